{
  description = "Builds PyTorch kernels for every torch, compute toolkit and CPU from one build.toml";

  # For contributors only: nothing on the way from a build.toml to a built variant uses it, so Nix never fetches it.
  inputs.nixpkgs.url = "github:NixOS/nixpkgs";

  outputs =
    { self, nixpkgs }:
    {
      lib = import ./lib;
    }
    // import ./nix/flake/own.nix;
}
