# The public library, in alphabetical order: one function a file, the file's name its attribute.
{
  genFlakeOutputs = import ./genFlakeOutputs.nix;
  kernel = import ./kernel.nix;
  torchExtension = import ./torchExtension.nix;
  torchNoarch = import ./torchNoarch.nix;
  tvmFfiExtension = import ./tvmFfiExtension.nix;
}
