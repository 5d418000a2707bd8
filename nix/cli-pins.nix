# The answer to `kernel-builder fetch`: the store path of every pin of some families (separated by
# blanks), by store name, and of archives that a build.toml describes (a list, as JSON).
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
