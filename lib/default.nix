# The public library, in alphabetical order: each file is one function, under the file's name.
{
  genFlakeOutputs = import ./genFlakeOutputs.nix;
  genKernelFlakeOutputs = import ./genKernelFlakeOutputs.nix;
  image = import ./image.nix;
  kernel = import ./kernel.nix;
  toolchain = import ./toolchain.nix;
}
