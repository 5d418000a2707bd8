# The crates that `kernel-builder fetch --tool` asks for: the store path of every crate of a
# Cargo.lock, by file name.
{ system, lock }:
{
  paths = builtins.listToAttrs (
    map (crate: {
      inherit (crate) name;
      value = crate.archive.outPath;
    }) (import ./tool/locked.nix { pins = import ./pins.nix { inherit system; }; } (/. + lock))
  );
}
