# What the command line evaluates: the kernel in a folder that has a build.nix, built on one system as far as its
# variants leave that open.
{ root, system }:
let
  kernel = import (root + "/build.nix") { kernelBuilder = import ../lib; };
in
kernel // { packages = kernel.packages system; }
