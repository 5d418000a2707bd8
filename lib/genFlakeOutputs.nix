/**
  The outputs of a kernel's flake, from the build.nix that `kernel-builder generate` writes beside its build.toml.

  # Inputs

  `self`
  : The kernel's flake.

  `path`
  : The kernel's folder, e.g. `./.`.

  # Example

  ```nix
  outputs = { self, kernel-builder }: kernel-builder.lib.genFlakeOutputs { inherit self; path = ./.; };
  ```
*/
{ self, path }:
let
  kernel =
    if builtins.pathExists (path + "/build.nix") then
      import (path + "/build.nix") { kernelBuilder = import ./.; }
    else
      throw "build.nix is missing: run `kernel-builder generate` in the kernel's folder (and add the file to git)";
  forSystems =
    make:
    builtins.listToAttrs (
      map (system: {
        name = system;
        value = make system;
      }) kernel.systems
    );
in
{
  packages = forSystems (
    system:
    let
      redistributable = kernel.redistributable system;
    in
    {
      default = redistributable;
      inherit redistributable;
      build-and-copy = kernel.copyApp system redistributable;
    }
  );
  apps = forSystems (system: {
    build-and-copy = {
      type = "app";
      program = "${self.packages.${system}.build-and-copy}/bin/build-and-copy";
    };
  });
}
