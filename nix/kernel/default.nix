# The variants of a kernel -> what its flake and the command line ask for.
{
  name,
  # From torch-extension.nix.
  variants,
}:
let
  recipes = import ../recipes.nix;
  of = system: builtins.filter (variant: variant.system == system) variants;
  byName =
    list:
    builtins.listToAttrs (
      map (variant: {
        name = variant.variant;
        value = variant.package;
      }) list
    );
in
{
  inherit name;
  # Systems that build variants, sorted.
  systems = builtins.attrNames (builtins.groupBy (variant: variant.system) variants);

  # The derivation of every variant, of all systems, by name.
  packages = byName variants;

  # The bundled variants of a system in one folder; every variant of the system is an attribute of it too.
  redistributable =
    system:
    let
      all = byName (of system);
    in
    (recipes { inherit system; }).bundle {
      inherit name;
      variants = map (variant: variant.package) (builtins.filter (variant: variant.bundle) (of system));
    }
    // all;

  # A program that copies such a folder to ./build.
  copyApp = system: bundle: (recipes { inherit system; }).copyApp { inherit name bundle; };
}
