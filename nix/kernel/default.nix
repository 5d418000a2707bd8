# The variants of a kernel -> what its flake and the command line ask for.
{
  name,
  # From extension.nix and noarch.nix.
  variants,
}:
let
  recipes = import ../recipes.nix;
  any = builtins.filter (variant: !(variant ? system)) variants;
  ofOne = builtins.filter (variant: variant ? system) variants;
  # Variants that a system builds.
  of = system: builtins.filter (variant: variant.system or system == system) variants;
  byName =
    system: list:
    builtins.listToAttrs (
      map (variant: {
        name = variant.variant;
        value = package system variant;
      }) list
    );
  package = system: variant: variant.package or (variant.packageOn system);
in
{
  inherit name;
  # Systems that build variants, sorted.
  systems =
    if any == [ ] then
      builtins.attrNames (builtins.groupBy (variant: variant.system) ofOne)
    else
      import ../systems.nix;

  # The derivation of every variant, of all systems, by name. What any system can build is built on the given one.
  packages = system: byName system variants;

  # What `kernel-builder build` asks for, of some variants: the derivation of each and of its units.
  work =
    system: names:
    let
      byName = builtins.listToAttrs (
        map (variant: {
          name = variant.variant;
          value = variant;
        }) variants
      );
      unit = object: {
        derivation = object.drvPath;
        inherit (object) driver;
      };
    in
    map (
      name:
      let
        variant = byName.${name};
      in
      {
        derivation = (package system variant).drvPath;
        units = map unit (variant.objects or [ ]);
      }
    ) names;

  # The bundled variants of a system in one folder; every variant of the system is an attribute of it too.
  redistributable =
    system:
    (recipes { inherit system; }).bundle {
      inherit name;
      variants = map (package system) (builtins.filter (variant: variant.bundle) (of system));
    }
    // byName system (of system);

  # A program that copies such a folder to ./build.
  copyApp = system: bundle: (recipes { inherit system; }).copyApp { inherit name bundle; };
}
