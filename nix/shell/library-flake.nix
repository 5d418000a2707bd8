# The flake.nix of the library's copy that `kernel-builder` unpacks. It takes the place of nixpkgs,
# in which `nix develop` looks for an interactive bash.
{
  outputs =
    { self }:
    {
      legacyPackages = builtins.mapAttrs (system: _: {
        bashInteractive = (import ./nix/recipes.nix).${system}.interactiveBash;
      }) (builtins.readDir ./nix/pins);
    };
}
