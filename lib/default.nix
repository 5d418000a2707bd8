# The public library, in alphabetical order: one function a file, the file's name its attribute.
{
  genFlakeOutputs = import ./genFlakeOutputs.nix;
  genKernelFlakeOutputs = import ./genKernelFlakeOutputs.nix;
  kernel = import ./kernel.nix;
  toolchain = import ./toolchain.nix;
}
