# The crates of a Cargo.lock, which has everything that Nix needs to know of them: file name,
# checksum, archive.
{ pins }:
lock:
map
  (crate: rec {
    name = "${crate.name}-${crate.version}.crate";
    inherit (crate) checksum;
    archive = pins.file name checksum;
  })
  (
    # Without a checksum: our own.
    builtins.filter (crate: crate ? checksum) (builtins.fromTOML (builtins.readFile lock)).package
  )
