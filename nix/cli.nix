# What the command line evaluates: the kernel in a folder that has a build.nix, built on one system as far as its
# variants leave that open.
{
  root,
  system,
  # Names of variants, separated by blanks.
  variants ? "",
}:
let
  kernel = import (root + "/build.nix") { kernelBuilder = import ../lib; };
  names = builtins.filter (name: builtins.isString name && name != "") (builtins.split " " variants);
  part =
    name:
    builtins.listToAttrs (
      map (variant: {
        name = variant.variant;
        value =
          (import ./flake/variant.nix {
            inherit (kernel) hub name;
            root = /. + root;
            recipes = (import ./recipes.nix).${variant.system};
            # The shells of the command line have the program that opens them.
            tool = null;
          } variant).${name};
      }) (kernel.on system)
    );
in
{
  work = kernel.work system names;
  devShells = part "devShell";
  testShells = part "testShell";
}
