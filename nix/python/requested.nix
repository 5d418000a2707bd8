# The Python packages that a kernel has in addition to those that every kernel has: what its
# python-packages.json pins, and what the functions of its flake ask for.
{ pins }:
{
  # Archives of the kernel's python-packages.json, for this system.
  archives,
  # Functions from packages by name to a list of them.
  inputs,
  # Derivations that every kernel has, by name.
  provided,
  # Words of flake.nix that may be names of packages which nobody has pinned.
  words,
}:
let
  # Names as the index has them, and as Nix can write them without quotes.
  named =
    name: value:
    map
      (name: {
        inherit name value;
      })
      [
        name
        (builtins.replaceStrings [ "-" ] [ "_" ] name)
      ];
  known = builtins.listToAttrs (
    builtins.concatMap (name: named name (provided.${name} // { isPinned = true; })) (
      builtins.attrNames provided
    )
    ++ builtins.concatMap (pin: named pin.name (pins.archive pin // { isPinned = true; })) archives
  );
  # NB: functions name packages as variables (`with packages; [ rich ]`), and an unknown variable
  # ends the evaluation of the whole flake. So every word of flake.nix is an attribute, and only
  # builds that need an unpinned one fail.
  unpinned = builtins.listToAttrs (
    map (name: {
      inherit name;
      value = {
        inherit name;
        isPinned = false;
      };
    }) words
  );
  asked = builtins.concatMap (input: input (unpinned // known)) inputs;
  foreign = builtins.filter (package: !(package ? isPinned)) asked;
  missing = builtins.attrNames (
    builtins.listToAttrs (
      map (package: {
        inherit (package) name;
        value = null;
      }) (builtins.filter (package: !package.isPinned) asked)
    )
  );
  list = builtins.concatStringsSep " " missing;
in
{
  # Wheels to unpack.
  wheels = map pins.archive archives;

  # Names of packages that are asked for and that nobody has pinned.
  missing =
    if foreign == [ ] then
      missing
    else
      throw "pythonCheckInputs: expected a function from packages to a list of some of them";

  # A list of derivations that fail with the cure, empty if no package is missing.
  failures =
    if missing == [ ] then
      [ ]
    else
      [
        (pins.unpinned "python-packages" "pythonCheckInputs: nobody has pinned ${list}: run `kernel-builder pin-python ${list}` in the kernel's folder")
      ];
}
