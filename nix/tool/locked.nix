# The crates of a Cargo.lock: file name, checksum, and the archive as a pin.
{ pins }:
lock:
map
  (crate: rec {
    name = "${crate.name}-${crate.version}.crate";
    inherit (crate) checksum;
    archive = pins.file name checksum;
  })
  (
    # A crate without a checksum is our own.
    builtins.filter (crate: crate ? checksum) (builtins.fromTOML (builtins.readFile lock)).package
  )
