# The file that the command line evaluates: the kernel in a folder. Variants that any system can
# build are built on the given one.
{
  root,
  # The build.nix to read.
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
  # One of the shells of flake/variant.nix, for each variant.
  shells =
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
            # The program that opens these shells puts itself into their PATH.
            tool = null;
          } variant).${name};
      }) (kernel.variantsOn system)
    );
in
{
  derivations = kernel.derivationsOf system names;
  devShells = shells "devShell";
  testShells = shells "testShell";
}
