# The recipes behind lib/, for a system. Each system's are made once, however many variants ask for them.
# Not a public interface; kernel repositories use lib/.
{ system }:
(import ./recipes-by-system.nix).${system}
  or (throw "kernel-builder has no toolchains for ${system}")
