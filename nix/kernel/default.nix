# build.nix -> the kernel's variants as derivations, for its flake and for the command line.
{
  name,
  # "torch" or "tvmFfi".
  framework,
  # The folder of the Python package, and the extensions of its files.
  python,
  # Where the kernel is published, as far as build.toml says: `repo-id`, `branch`.
  hub ? { },
  # Digests of the rows of the release table that the kernel is compiled for, by profile and name.
  variants,
  # Backends of variants of Python alone, by name.
  pythonVariants ? { },
  # rows.nix, resolve.nix and sources.nix describe the other arguments.
  sections ? [ ],
  ...
}@given:
let
  kernel = given // {
    sections = map (
      section: section // { key = "${section.backend or "-"} ${section.name}"; }
    ) sections;
  };
  resolved = import ./resolve.nix kernel;
  sources = import ./sources.nix kernel;
  content = import ./content.nix { inherit name python sources; };
  frameworks = import ./frameworks.nix;
  compile = import ./extension.nix {
    inherit
      content
      kernel
      resolved
      sources
      ;
    framework = frameworks.${framework};
  };
  pack = import ./noarch.nix {
    inherit content resolved;
    framework = frameworks.torchNoarch;
  };
  inherit (import ../release-table.nix) backends;
  # Variants in the order of their backends. Those of one backend keep their order, which is that of
  # the rows.
  sortByBackend =
    variants:
    builtins.concatMap (
      backend: builtins.filter (variant: variant.backend == backend) variants
    ) backends;
  # The best first: bundled variants, then the others.
  sortBestFirst =
    variants:
    sortByBackend (builtins.filter (variant: variant.bundle) variants)
    ++ sortByBackend (builtins.filter (variant: !variant.bundle) variants);
  compiled = map compile (import ./rows.nix kernel);
  packed = map (
    variant:
    pack {
      inherit variant;
      backend = pythonVariants.${variant};
    }
  ) (builtins.attrNames pythonVariants);
  all = sortBestFirst (compiled ++ packed);

  # The variants that a system builds. A variant of Python alone, which any system can build, is
  # built on this one.
  variantsOn =
    system:
    map (variant: { package = variant.packageOn system; } // variant // { inherit system; }) (
      builtins.filter (variant: variant.system or system == system) all
    );
  byName =
    list:
    builtins.listToAttrs (
      map (variant: {
        name = variant.variant;
        value = variant;
      }) list
    );
in
{
  inherit hub name variantsOn;
  variants = all;
  # The systems that build variants, sorted.
  systems =
    if packed == [ ] then
      builtins.attrNames (builtins.groupBy (variant: variant.system) compiled)
    else
      import ../systems.nix;

  # The derivations that `kernel-builder build` and `plan` ask for: the package and the library of
  # each named variant.
  derivationsOf =
    system: names:
    let
      variantsByName = byName (compiled ++ variantsOn system);
    in
    map (
      name:
      let
        variant = variantsByName.${name};
      in
      {
        derivation = variant.package.drvPath;
        library = if variant ? library then variant.library.drvPath else null;
      }
    ) names;
}
