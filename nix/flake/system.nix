# A kernel's outputs on one system.
{
  name,
  hub,
  root,
  system,
  # Those of the system, the best first.
  variants,
  doGetKernelCheck,
  pythonInputs,
  # Whether the flake says which variants it has (`torchVersions`).
  isChosen ? false,
  # From ./python-packages.nix.
  pythonPackages,
}:
let
  recipes = (import ../recipes.nix).${system};
  inherit (recipes) tool;
  # To build the program takes longer than a shell may: its derivation comes with the shell, its output does not.
  onFirstUse =
    if tool == null then
      null
    else
      recipes.program {
        name = "kernel-builder";
        script = ../tool/on-first-use.sh;
        values.derivation = builtins.unsafeDiscardOutputDependency tool.drvPath;
      };
  # The variants that are built by default. Where a flake chose none of these, all that it chose.
  bundled =
    let
      marked = builtins.filter (variant: variant.bundle) variants;
    in
    if marked == [ ] && isChosen then variants else marked;
  byName =
    make:
    builtins.listToAttrs (
      map (variant: {
        name = variant.variant;
        value = make variant;
      }) variants
    );
  # One attribute per backend, e.g. { cpu = make [ … ]; cuda = make [ … ]; }.
  byBackend =
    make: variants: builtins.mapAttrs (_: make) (builtins.groupBy (variant: variant.backend) variants);
  prefixed =
    prefix: attrs:
    builtins.listToAttrs (
      map (key: {
        name = "${prefix}-${key}";
        value = attrs.${key};
      }) (builtins.attrNames attrs)
    );

  bundle =
    variants:
    recipes.bundle {
      inherit name;
      variants = map (variant: variant.package) variants;
    };
  # NB: an empty folder would be a success. This evaluates, for `nix flake show`, and fails with the words when it is built.
  all =
    if bundled != [ ] then
      bundle bundled
    else
      derivation {
        name = "${name}-bundle";
        inherit system;
        builder = "builtin:no variant of ${name} is built by default on ${system}, since none has a pinned toolchain: ${
          builtins.concatStringsSep ", " (map (variant: variant.variant) variants)
        }";
      };
  bundles = byBackend bundle bundled;
  # The best variant of each backend.
  ci = bundle (builtins.attrValues (byBackend builtins.head variants));
  backendCi = byBackend (variants: bundle [ (builtins.head variants) ]) variants;

  parts = byName (
    import ./variant.nix {
      inherit
        doGetKernelCheck
        hub
        name
        pythonInputs
        pythonPackages
        recipes
        root
        ;
      tool = onFirstUse;
    }
  );
  pick = part: builtins.mapAttrs (_: parts: parts.${part});
  best = parts.${(builtins.head variants).variant};
  # Those with a Python.
  lively = builtins.listToAttrs (
    builtins.filter (entry: entry.value.hasPython) (
      map (variant: {
        name = variant.variant;
        value = parts.${variant.variant};
      }) variants
    )
  );
  shells = pick "devShell" lively;
  testShells = pick "testShell" lively;

  programs = {
    build-and-copy = recipes.program {
      name = "build-and-copy";
      script = ./build-and-copy.sh;
      values.bundle = "${all}";
    };
    build-and-upload = recipes.program {
      name = "build-and-upload";
      script = ./build-and-upload.sh;
      values = {
        bundle = "${all}";
        repo = hub.repo-id or "";
        branch = hub.branch or "";
        tool = if tool == null then "" else "${tool}/bin:";
      };
    };
  }
  // (
    if best.hasPython then
      {
        ci-test = best.test;
        kernels = best.client;
      }
    else
      { }
  )
  // (if tool == null then { } else { kernel-builder = tool; });
in
{
  packages = {
    default = all;
    bundle = all;
    # Every variant is an attribute of it too: `nix build .#redistributable.<variant>`.
    redistributable = all // byName (variant: variant.package);
    inherit ci;
  }
  // prefixed "bundle" bundles
  // prefixed "ci" backendCi
  // programs;

  apps = builtins.mapAttrs (name: program: {
    type = "app";
    program = "${program}/bin/${name}";
  }) programs;

  checks = pick "check" parts;

  # `nix develop .#<variant>`, `.#devShells.<variant>` and `.#testShells.<variant>`: Nix looks for each here.
  devShells =
    shells
    // (
      if best.hasPython then
        {
          default = best.devShell;
          test = best.testShell;
          devShells = best.devShell // shells;
          testShells = best.testShell // testShells;
        }
      else
        { }
    );

  # What Nix does not want among packages: lists, and sets of derivations. `nix build .#backendBundle.cuda` finds them.
  legacyPackages = {
    variants = map (variant: variant.variant) variants;
    archVariants = map (variant: variant.variant) variants;
    backendBundle = bundles;
    inherit backendCi;
    ciTests = pick "test" lively;
  };
}
// (if tool == null then { } else { formatter = import ./formatter.nix { inherit recipes; }; })
