# A kernel's outputs on one system.
{
  name,
  hub,
  root,
  system,
  # The variants of the system, the best first.
  variants,
  doGetKernelCheck,
  pythonInputs,
  # Whether the flake chooses variants (`torchVersions`).
  isChosen ? false,
  # From ./python-packages.nix.
  pythonPackages,
  # From ./revision.nix.
  revision ? null,
}:
let
  recipes = (import ../recipes.nix).${system};
  inherit (recipes) tool;
  # A program that builds kernel-builder when it is first called. NB: a shell must open fast, so it
  # depends on the derivation of kernel-builder and not on its output.
  toolOnFirstUse =
    if tool == null then
      null
    else
      recipes.program {
        name = "kernel-builder";
        # Its name of 2025, in tutorials.
        alias = "build2cmake";
        script = ../tool/on-first-use.sh;
        values.derivation = builtins.unsafeDiscardOutputDependency tool.drvPath;
      };
  # The variants that are built by default. Where a flake chose none of these, all variants that it
  # chose.
  bundled =
    let
      marked = builtins.filter (variant: variant.bundle) variants;
    in
    if marked == [ ] && isChosen then variants else marked;
  # A value for each variant, by the variant's name.
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

  bundleAs =
    storeName: variants:
    recipes.bundle {
      inherit revision variants;
      name = storeName;
      kernel = name;
    };
  bundle = bundleAs "${name}-bundle";
  # The bundle of the variants that are built by default. Where there are none, a derivation that
  # evaluates, for `nix flake show`, and fails with a message when it is built. NB: an empty folder
  # would count as a success.
  all =
    if bundled != [ ] then
      bundle bundled
    else
      (import ../pins.nix { inherit system; }).unpinned "${name}-bundle"
        "no variant of ${name} is built by default on ${system}, since none has a pinned toolchain: ${
          builtins.concatStringsSep ", " (map (variant: variant.variant) variants)
        }";
  bundles = byBackend bundle bundled;
  # Bundles of the best variants: one of all backends, and one for each backend.
  ci = bundle (builtins.attrValues (byBackend builtins.head variants));
  backendCi = byBackend (variants: bundle [ (builtins.head variants) ]) variants;

  # The check, programs and shells of each variant.
  extras = byName (
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
      tool = toolOnFirstUse;
    }
  );
  collect = name: builtins.mapAttrs (_: extra: extra.${name});
  best = extras.${(builtins.head variants).variant};
  # The extras of variants that have a Python.
  withPython = builtins.listToAttrs (
    builtins.filter (entry: entry.value.hasPython) (
      map (variant: {
        name = variant.variant;
        value = extras.${variant.variant};
      }) variants
    )
  );
  shells = collect "devShell" withPython;
  testShells = collect "testShell" withPython;

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
        copy = "${programs.build-and-copy}";
        program = if tool == null then "" else "${tool}/bin/kernel-builder";
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
    # The bundle, which also has each variant as an attribute: `nix build
    # .#redistributable.<variant>`.
    redistributable = all // byName (variant: bundleAs "${name}-${variant.variant}" [ variant ]);
    inherit ci;
  }
  // prefixed "bundle" bundles
  // prefixed "ci" backendCi
  // programs;

  apps = builtins.mapAttrs (name: program: {
    type = "app";
    program = "${program}/bin/${name}";
  }) programs;

  checks = collect "check" extras;

  # Nix looks here for `nix develop .#<variant>`, `.#devShells.<variant>` and
  # `.#testShells.<variant>`.
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

  # Lists and sets of derivations, which Nix refuses among packages. `nix build
  # .#backendBundle.cuda` finds them here.
  legacyPackages = {
    variants = map (variant: variant.variant) variants;
    archVariants = map (variant: variant.variant) variants;
    backendBundle = bundles;
    inherit backendCi;
    ciTests = collect "test" withPython;
  };
}
// (if tool == null then { } else { formatter = import ./formatter.nix { inherit recipes; }; })
