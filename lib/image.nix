/**
  A container image in which kernel-builder builds kernels, as an OCI image layout: a folder that
  podman, skopeo and others read, and as a tar archive `docker load` too.

  # Inputs

  `variants` (optional)
  : Names of variants whose toolchains the image has, unpacked. Builds of these need no network. The
    toolchains of other variants are fetched in the container.

  `system` (optional)
  : The system that the image runs on. Only `"x86_64-linux"` builds the program.

  # Example

  ```nix
  kernel-builder.lib.image { variants = [ "torch211-cxx11-cpu-x86_64-linux" ]; }
  ```
*/
{
  system ? "x86_64-linux",
  variants ? [ ],
}:
(import ../nix/recipes.nix).${system}.image { inherit variants; }
