# Rust from Debian packages: rustc, cargo, and their linker `cc`, which calls the gcc of the PATH.
# NB: the security suite's Rust, since the release's (1.85) is older than what the tool's crates
# need (Cargo.toml, rust-version). That suite holds one version at a time: its pins are refreshed
# when it moves on.
{
  name,
  host,
  pins,
  run,
}:
run {
  inherit name;
  script = ./rust.sh;
  debs = pins.family name;
  inherit (host) libraries loader triplet;
}
