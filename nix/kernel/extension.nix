# One variant with native code, as build.nix describes it -> its derivations. Everything is decided in build.nix; this
# only connects. What differs between frameworks is in frameworks.nix.
framework:
kernel@{ name, root, ... }:
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
  # Groups of translation units that see the same headers.
  components,
  link,
  # Python files: the folder and the file name extensions that belong to the package.
  python,
  # The fixed part of metadata.json.
  metadata,
}:
let
  sources = import ./sources.nix { inherit root; };
  recipe = (import ../recipes.nix).${system};
  tools = recipe.toolchain toolchain;
  content = import ./content.nix kernel { inherit id python; };
  inherit (content) namespace;

  compile =
    component: headers: group: source:
    recipe.compile {
      name = "${name}-${source}.o";
      toolchain = tools;
      inherit (group) driver flags;
      inherit (component) include;
      inherit source headers;
      file = sources.file source;
      registration = if group.namespace == "none" then null else framework.registration;
      define = if group.namespace == "compiled" then "${framework.define}=${namespace}" else null;
    };
  # The objects of groups that some drivers make.
  compiled =
    wanted:
    builtins.concatMap (
      component:
      let
        headers = sources.tree component.headers;
      in
      builtins.concatMap (group: map (compile component headers group) group.sources) (
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
  package = content.package recipe {
    inherit library metadata variant;
    inherit (framework) ops;
  };
}
