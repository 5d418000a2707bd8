# The Python packages of a kernel besides those that every kernel has: the archives that `kernel-builder pin-python` wrote,
# by system, and what else flake.nix may name.
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
