/**
  A toolchain without a kernel, for flakes that build in their own way.

  # Inputs

  `system`
  : The system that its compilers run on, e.g. `"x86_64-linux"`.

  `host`, `python`, `torch`, `cuda` (optional)
  : Names of families of pins: files of nix/pins/<system>, e.g. `"gcc-12"`, `"python-3.11"`,
    `"torch-2.11.0"`, `"cuda-13.0"`.

  # Result

  `host.bin` (gcc, g++ and binutils), `python.include`, `framework.include`, `cuda.toolkit` (nvcc,
  headers, libraries). An attribute that is not used is neither fetched nor built.

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
