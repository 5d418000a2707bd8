# The flake.nix that the library has where `kernel-builder` unpacks it. It stands where `nix
# develop` looks for an interactive bash, which would otherwise be nixpkgs.
{
  outputs =
    { self }:
    {
      legacyPackages = builtins.mapAttrs (system: _: {
        bashInteractive = (import ./nix/recipes.nix).${system}.interactiveBash;
      }) (builtins.readDir ./nix/pins);
    };
}
