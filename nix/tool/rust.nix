# The Rust that compiles the program, and the C compiler that it links with. `pins` say what to run
# where one is missing.
{
  pins,
  run,
  # From ../system-recipes.nix: host compilers by name.
  hostTools,
}:
let
  names = builtins.fromJSON (builtins.readFile ./toolchain.json);
in
rec {
  host = hostTools names.host;
  rust = import ../toolchains/rust.nix {
    name = names.rust;
    inherit host pins run;
  };
}
