# The file that the command line evaluates: the kernel in a folder, built on one system as far as
# its variants leave that open.
{
  root,
  # Its build.nix.
  file ? root + "/build.nix",
  system,
  # Names of variants, separated by blanks.
  variants ? "",
}:
let
  kernel = import file {
    kernelBuilder = import ../lib;
    root = /. + root;
  };
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
            pythonPackages = import ./flake/python-packages.nix { root = /. + root; };
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
