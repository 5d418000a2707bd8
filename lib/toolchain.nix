/**
  Toolchains without kernels, for flakes that build in their own way.

  # Inputs

  `system`
  : Where they run, e.g. `"x86_64-linux"`.

  `host`, `python`, `torch`, `cuda` (optional)
  : Names of toolchains: files of nix/pins/<system>, e.g. `"gcc-12"`, `"python-3.11"`, `"torch-2.11.0"`, `"cuda-13.0"`.

  # Result

  `host.bin` (gcc, g++ and binutils), `python.include`, `torch.include`, `cuda.toolkit` (nvcc, headers, libraries). Nothing
  is built or needed of what is not used.

  # Example

  ```nix
  (kernel-builder.lib.toolchain {
    system = "x86_64-linux";
    host = "gcc-12";
    python = "python-3.11";
    torch = "torch-2.11.0";
    cuda = "cuda-13.0";
  }).cuda.toolkit
  ```
*/
{ system, ... }@toolchain:
(import ../nix/recipes.nix).${system}.toolchain (builtins.removeAttrs toolchain [ "system" ])
