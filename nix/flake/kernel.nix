# The kernel in a folder: from the build.nix there or, where none is committed, from one that a derivation generates.
{ root }:
let
  kernelBuilder = import ../../lib;
  # The tool runs where Nix evaluates. Flakes do not say where that is; x86_64-linux is what the tool can be built for.
  system = builtins.currentSystem or "x86_64-linux";

  # What builds leave behind is no source.
  prefixLength = builtins.stringLength (toString root) + 1;
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
  throw "build.nix is missing: run `kernel-builder generate` in the kernel's folder and commit the file"
else
  import generated { inherit kernelBuilder root; }
