# The kernel in a folder: from its build.nix or, where none is committed, from a build.nix that a
# derivation generates.
{ root }:
let
  kernelBuilder = import ../../lib;
  # The system of the derivation that generates build.nix, which runs while Nix evaluates. In
  # flakes, which do not know the evaluating system, x86_64-linux: no other system can build
  # kernel-builder.
  system = builtins.currentSystem or "x86_64-linux";

  prefixLength = builtins.stringLength (toString root) + 1;
  # Names in the kernel's folder that builds leave behind: they are no sources.
  leftBehind = [
    ".git"
    ".venv"
    "build"
    "result"
    "target"
  ];
  sources = builtins.path {
    path = root;
    name = "kernel";
    filter = path: _: !builtins.elem (builtins.substring prefixLength (-1) path) leftBehind;
  };
  missing = "Nix sees no build.nix in the kernel's folder: run `kernel-builder generate`, and in a git repository `git add build.nix`";
  inherit ((import ../recipes.nix).${system}) generator;
  generated = derivation {
    name = "build.nix";
    inherit system;
    builder = "${generator}/bin/kernel-builder";
    args = [
      "generate"
      sources
      "--output"
      (builtins.placeholder "out")
    ];
  };
in
if builtins.pathExists (root + "/build.nix") then
  import (root + "/build.nix") { inherit kernelBuilder; }
else if generator == null then
  throw missing
else
  builtins.trace "warning: ${missing}; without it, Nix builds kernel-builder from source" (
    import generated { inherit kernelBuilder root; }
  )
