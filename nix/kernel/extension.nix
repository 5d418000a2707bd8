# One variant with native code, as build.nix describes it -> its derivations. Everything is decided in build.nix; this
# only connects. What differs between frameworks is in frameworks.nix.
framework:
kernel@{ name, python, ... }:
let
  sources = import ./sources.nix kernel;
  content = import ./content.nix { inherit name python sources; };
in
{
  variant,
  # Where it is built.
  system,
  # Whether it is built when nothing is asked for.
  bundle,
  # Names of its toolchains (nix/recipes.nix).
  toolchain,
  # Prefix of its ids, a hash of what build.toml says of its native code, and the files of that code.
  id,
  # Groups of translation units that search the same folders for headers.
  components,
  link,
  # The fixed part of metadata.json.
  metadata,
}:
let
  recipe = (import ../recipes.nix).${system};
  tools = recipe.toolchain toolchain;
  inherit (content id) namespace package;

  compile =
    component: units: group: source:
    recipe.compile {
      name = "${name}-${source}.o";
      toolchain = tools;
      inherit (group) driver flags framework;
      inherit (component) include;
      inherit source;
      inherit (sources.fresh units.${source}) file headers includes;
      registration = if group.namespace == "none" then null else framework.registration;
      define = if group.namespace == "compiled" then "${framework.define}=${namespace}" else null;
    };
  # The objects of groups that some drivers make.
  compiled =
    wanted:
    builtins.concatMap (
      component:
      let
        units = sources.units component.include;
      in
      builtins.concatMap (group: map (compile component units group) group.sources) (
        builtins.filter (group: wanted group.driver) component.units
      )
    ) components;
  objects = compiled (driver: driver != "metal");
  shaders = compiled (driver: driver == "metal");

  library = recipe.link {
    name = "${name}-${variant}-library";
    toolchain = tools;
    library = "${namespace}.${link.extension}";
    inherit namespace objects shaders;
    inherit (link)
      driver
      flags
      libraries
      policy
      ;
  };
in
{
  inherit
    bundle
    library
    name
    objects
    system
    toolchain
    variant
    ;
  backend = metadata.backend.type;
  # Evaluating names of variants touches none of the above.
  package = package recipe {
    inherit library metadata variant;
    inherit (framework) ops;
  };
}
