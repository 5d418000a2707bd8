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
in
{
  work = kernel.work system names;
}
