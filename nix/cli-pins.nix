# The pins that `kernel-builder fetch` asks for, as store paths by store name: the pins of
# `families` (names separated by blanks), and `archives` that a build.toml describes (a list, as
# JSON).
{
  system,
  families ? "",
  archives ? "[]",
}:
let
  pins = import ./pins.nix { inherit system; };
  names = builtins.filter (name: builtins.isString name && name != "") (builtins.split " " families);
in
{
  paths = builtins.listToAttrs (
    map (pin: {
      inherit (pin) name;
      value = pin.outPath;
    }) (builtins.concatMap pins.family names ++ map pins.archive (builtins.fromJSON archives))
  );
}
