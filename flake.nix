{
  description = "Builds PyTorch kernels for every torch, compute toolkit and CPU from one build.toml";

  # NB: no inputs. Behind the flake.lock of a kernel, which may be another builder's, Nix fetches even those that nothing uses.
  outputs =
    { self }:
    {
      lib = import ./lib;
    }
    // import ./nix/flake/own.nix;
}
