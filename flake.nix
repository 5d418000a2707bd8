{
  description = "Builds PyTorch kernels for every torch, compute toolkit and CPU from one build.toml";

  # NB: no inputs. Where a kernel's flake.lock was written for another builder, Nix fetches even
  # inputs that are not used.
  outputs =
    { self }:
    {
      lib = import ./lib;
    }
    // import ./nix/flake/repository.nix;
}
