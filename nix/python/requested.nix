# The Python packages that a kernel has in addition to those of every kernel: its
# python-packages.json pins them, and the functions of its flake ask for them.
{ pins }:
{
  # Archives of the kernel's python-packages.json, for this system.
  archives,
  # Functions from a set of packages to a list of some of them.
  inputs,
  # Packages of every kernel as derivations, by name.
  provided,
  # Words of flake.nix that may be names of packages which nobody has pinned.
  words,
}:
let
  # A package under its name on the index, and under the name that Nix can write without quotes.
  underBothNames =
    name: value:
    map
      (name: {
        inherit name value;
      })
      [
        name
        (builtins.replaceStrings [ "-" ] [ "_" ] name)
      ];
  pinned = builtins.listToAttrs (
    builtins.concatMap (name: underBothNames name (provided.${name} // { isPinned = true; })) (
      builtins.attrNames provided
    )
    ++ builtins.concatMap (
      pin: underBothNames pin.name (pins.archive pin // { isPinned = true; })
    ) archives
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
  asked = builtins.concatMap (input: input (unpinned // pinned)) inputs;
  noPackages = builtins.filter (package: !(package ? isPinned)) asked;
  missing = builtins.attrNames (
    builtins.listToAttrs (
      map (package: {
        inherit (package) name;
        value = null;
      }) (builtins.filter (package: !package.isPinned) asked)
    )
  );
  missingNames = builtins.concatStringsSep " " missing;
in
{
  # The wheels of `archives`, to be unpacked.
  wheels = map pins.archive archives;

  # Names of packages that are asked for and that nobody has pinned.
  missing =
    if noPackages == [ ] then
      missing
    else
      throw "pythonCheckInputs: expected a function from packages to a list of some of them";

  # A list of derivations that fail with the cure, empty if no package is missing.
  failures =
    if missing == [ ] then
      [ ]
    else
      [
        (pins.unpinned "python-packages" "pythonCheckInputs: nobody has pinned ${missingNames}: run `kernel-builder pin-python ${missingNames}` in the kernel's folder")
      ];
}
