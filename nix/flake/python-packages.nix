# The Python packages that a kernel has in addition to those of every kernel: `archives`, from a
# system to the pins that `kernel-builder pin-python` wrote, and `words`, which flake.nix may use as
# names of packages.
{ root }:
let
  path = root + "/python-packages.json";
  file =
    if builtins.pathExists path then builtins.fromJSON (builtins.readFile path) else { systems = { }; };
in
{
  archives = system: file.systems.${system} or [ ];
  words = import ./words.nix { inherit root; };
}
