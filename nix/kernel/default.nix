# build.nix -> what a kernel's flake and the command line ask for.
{
  name,
  # "torch" or "tvmFfi".
  framework,
  # Folder and file name extensions of the Python package.
  python,
  # Where it is published, as far as build.toml says: `repo-id`, `branch`.
  hub ? { },
  # Digests of the rows of the release table that it is compiled for, by profile and name.
  variants,
  # Backends of variants of Python alone, by name.
  pythonVariants ? { },
  # rows.nix, resolve.nix and sources.nix describe the others.
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
  # The best first. Rows are in their order already.
  inherit (import ../release-table.nix) backends;
  byBackend =
    variants:
    builtins.concatMap (
      backend: builtins.filter (variant: variant.backend == backend) variants
    ) backends;
  bestFirst =
    variants:
    byBackend (builtins.filter (variant: variant.bundle) variants)
    ++ byBackend (builtins.filter (variant: !variant.bundle) variants);
  compiled = map compile (import ./rows.nix kernel);
  packed = map (
    variant:
    pack {
      inherit variant;
      backend = pythonVariants.${variant};
    }
  ) (builtins.attrNames pythonVariants);
  all = bestFirst (compiled ++ packed);

  # Variants that a system builds. Those that any system can build are built on the given one.
  on =
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
  inherit hub name on;
  variants = all;
  # Systems that build variants, sorted.
  systems =
    if packed == [ ] then
      builtins.attrNames (builtins.groupBy (variant: variant.system) compiled)
    else
      import ../systems.nix;

  # What `kernel-builder build` and `plan` ask for, of some variants: the derivation of each and of its library.
  work =
    system: names:
    let
      known = byName (compiled ++ on system);
    in
    map (
      name:
      let
        variant = known.${name};
      in
      {
        derivation = variant.package.drvPath;
        library = if variant ? library then variant.library.drvPath else null;
      }
    ) names;
}
