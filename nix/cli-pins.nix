# What `kernel-builder fetch` asks: the store path of every pin of some families (separated by blanks), by store name.
{ system, families }:
let
  pins = import ./pins.nix { inherit system; };
  names = builtins.filter builtins.isString (builtins.split " " families);
in
{
  paths = builtins.listToAttrs (
    map (pin: {
      inherit (pin) name;
      value = pin.outPath;
    }) (builtins.concatMap pins.family names)
  );
}
