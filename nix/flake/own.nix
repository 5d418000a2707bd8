# The outputs of this repository's own flake besides lib: the program, and the examples as templates.
let
  # Where the program can be built from its sources.
  systems = [ "x86_64-linux" ];
  forSystems =
    make:
    builtins.listToAttrs (
      map (system: {
        name = system;
        value = make (import ../recipes.nix).${system};
      }) systems
    );
  template =
    name:
    let
      folder = ../../examples + "/${name}";
    in
    {
      # NB: where the store lies elsewhere (NIX_REMOTE=<folder>), Nix 2.8 takes only what is in the store by itself, and later
      # ones only what can be seen.
      path =
        if builtins.compareVersions builtins.nixVersion "2.9" < 0 then
          builtins.path {
            inherit name;
            path = folder;
          }
        else
          folder;
      inherit (import (folder + "/flake.nix")) description;
      welcomeText = ''
        Set `inputs.kernel-builder.url` in flake.nix to where you have kernel-builder from, then

            nix build .#redistributable -L
      '';
    };
in
{
  packages = forSystems (recipes: {
    default = recipes.tool;
    kernel-builder = recipes.tool;
  });
  apps = forSystems (recipes: rec {
    default = kernel-builder;
    kernel-builder = {
      type = "app";
      program = "${recipes.tool}/bin/kernel-builder";
    };
  });
  checks = forSystems (recipes: {
    kernel-builder = recipes.tool;
  });
  formatter = forSystems (recipes: import ./formatter.nix { inherit recipes; });

  # The examples.
  templates = builtins.mapAttrs (name: _: template name) (builtins.readDir ../../examples) // {
    default = template "relu";
  };
}
