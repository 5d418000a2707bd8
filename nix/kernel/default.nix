# The variants of a kernel -> what its flake and the command line ask for.
{
  name,
  # Where it is published, as far as build.toml says: `repo-id`, `branch`.
  hub ? { },
  # From extension.nix and noarch.nix.
  variants,
}:
let
  any = builtins.filter (variant: !(variant ? system)) variants;
  ofOne = builtins.filter (variant: variant ? system) variants;
  # Variants that a system builds. Those that any system can build are built on the given one.
  on =
    system:
    map (variant: { package = variant.packageOn system; } // variant // { inherit system; }) (
      builtins.filter (variant: variant.system or system == system) variants
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
  inherit
    hub
    name
    on
    variants
    ;
  # Systems that build variants, sorted.
  systems =
    if any == [ ] then
      builtins.attrNames (builtins.groupBy (variant: variant.system) ofOne)
    else
      import ../systems.nix;

  # What `kernel-builder build` and `plan` ask for, of some variants: the derivation of each and of its library.
  work =
    system: names:
    let
      all = byName (ofOne ++ on system);
    in
    map (
      name:
      let
        variant = all.${name};
      in
      {
        derivation = variant.package.drvPath;
        library = if variant ? library then variant.library.drvPath else null;
      }
    ) names;
}
