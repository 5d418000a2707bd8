# The outputs of this repository's flake besides lib: the program, and the examples as templates.
let
  # The systems that can build the program from its sources.
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
      # NB: with a store in another folder (NIX_REMOTE=<folder>), Nix 2.8 takes only a folder that
      # is a store path itself, and later releases only a folder that they can read.
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
    image = recipes.image { };
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

  templates = builtins.mapAttrs (name: _: template name) (builtins.readDir ../../examples) // {
    default = template "relu";
  };
}
