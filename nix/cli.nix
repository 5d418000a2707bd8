# What the command line evaluates: the kernel in a folder that has a build.nix.
{ root }: import (root + "/build.nix") { kernelBuilder = import ../lib; }
