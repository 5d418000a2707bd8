# One variant with native code, as build.nix describes it -> its derivations. Everything is decided in build.nix; this
# only connects. What differs between frameworks is in frameworks.nix.
framework:
kernel@{ name, python, ... }:
let
  sources = import ./sources.nix kernel;
  content = import ./content.nix { inherit name python sources; };

  # The objects of a group of units.
  compile =
    {
      # Of the system that compiles.
      recipe,
      toolchain,
      # Folders of the kernel that are searched for headers.
      include,
      # For units that need it.
      namespace ? null,
    }:
    group:
    let
      units = sources.units include;
      object = recipe.compile (
        builtins.removeAttrs group [
          "headerArchives"
          "headerLibraries"
          "namespace"
          "sources"
        ]
        // {
          inherit include toolchain;
          libraries =
            builtins.concatMap (family: recipe.headers.${family}) (group.headerLibraries or [ ])
            ++ builtins.concatMap (name: recipe.headerArchive ({ inherit name; } // kernel.archives.${name})) (
              group.headerArchives or [ ]
            );
          registration = if group.namespace == "none" then null else framework.registration;
          define = if group.namespace == "compiled" then "${framework.define}=${namespace}" else null;
        }
      );
    in
    map (source: object "${name}-${source}" source (sources.fresh units.${source})) group.sources;

  # Those that variants share.
  shared = map (
    {
      system,
      toolchain,
      include,
      units,
    }:
    let
      recipe = (import ../recipes.nix).${system};
      objects = compile {
        inherit recipe include;
        toolchain = recipe.toolchain toolchain;
      } units;
      responseFile = recipe.objects {
        name = "${name}-${units.driver}-objects";
        inherit objects;
        objectsOf = units.driver;
      };
    in
    {
      inherit (units) driver;
      objects =
        if units.driver == "metal" || builtins.length objects <= import ./input-limit.nix then
          objects
        else
          [ "@${responseFile}" ];
    }
  ) kernel.objects;
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
  # The namespace of its operators; null: the build's own.
  opNamespace ? null,
}:
let
  recipe = (import ../recipes.nix).${system};
  tools = recipe.toolchain toolchain;
  # NB: an `inherit` from the call would make Nix compute it twice.
  own = content id;
  inherit (own) namespace package;

  # The objects of groups that some drivers make.
  compiled =
    wanted:
    builtins.concatMap (
      component:
      builtins.concatMap (compile {
        inherit recipe namespace;
        inherit (component) include;
        toolchain = tools;
      }) (builtins.filter (group: wanted group.driver) component.units)
      ++ builtins.concatMap (group: group.objects) (
        builtins.filter (group: wanted group.driver) (map (builtins.elemAt shared) component.shared)
      )
    ) components;
  objects = compiled (driver: driver != "metal");
  shaders = compiled (driver: driver == "metal");

  library = recipe.link {
    name = "${name}-${variant}-library";
    toolchain = tools;
    library = "${namespace}.${link.extension}";
    inherit namespace objects shaders;
    inherit (framework) registration;
    archs = link.archs or [ ];
    moreArchs = link.moreArchs or false;
    openmp = link.openmp or false;
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
    inherit
      library
      metadata
      opNamespace
      variant
      ;
    inherit (framework) ops;
  };
}
