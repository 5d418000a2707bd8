# The variants of a kernel with native code: a function from a row of the release table to the derivations of its variant.
# resolve.nix says what is compiled and how; here it becomes derivations. frameworks.nix has what differs between frameworks.
{
  # build.nix, each section with a `key`.
  kernel,
  # From frameworks.nix.
  framework,
  # From resolve.nix, sources.nix and content.nix, for the kernel.
  resolved,
  sources,
  content,
}:
let
  inherit (kernel) name;
  inherit (import ../release-table.nix) compilers;
  unitsByKey = sources.units kernel.sections;

  # The objects of a group of units.
  compile =
    {
      # The recipes of the system that compiles, and the toolchain.
      recipe,
      toolchain,
      component,
      # The op namespace, for units that are compiled with it.
      namespace ? null,
    }:
    group:
    let
      units = unitsByKey.${component.key};
      object = recipe.compile (
        builtins.removeAttrs group [
          "headerArchives"
          "headerLibraries"
          "namespace"
          "sources"
        ]
        // {
          inherit toolchain;
          inherit (component) include;
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
    map (
      source: object "${name}-${source}" source (sources.fresh units.${source}.inputs)
    ) group.sources;

  # By compilers, as `resolved.compiled` is: the objects of groups that all rows share, and null for the other groups.
  shared = builtins.mapAttrs (
    key: components:
    let
      recipe = (import ../recipes.nix).${compilers.${key}.system};
      toolchain = recipe.toolchain compilers.${key}.toolchain;
      ofGroup =
        component: group:
        let
          objects = compile { inherit component recipe toolchain; } group;
          responseFile = recipe.objects {
            name = "${name}-${group.driver}-objects";
            inherit objects;
            objectsOf = group.driver;
          };
        in
        # NB: a link takes time for each input, and many variants have the same ones.
        if group.driver == "metal" || builtins.length objects <= import ./input-limit.nix then
          objects
        else
          [ "@${responseFile}" ];
    in
    map (
      component:
      map (group: if group.shared == null then null else ofGroup component group.shared) component.groups
    ) components
  ) resolved.compiled;

  # By compilers: the files of the kernel that variants are made of, sorted.
  filesOf = builtins.mapAttrs (
    _: components:
    builtins.attrNames (
      builtins.listToAttrs (
        map
          (name: {
            inherit name;
            value = null;
          })
          (
            builtins.concatMap (
              component:
              builtins.concatMap (
                group:
                builtins.concatMap (
                  source: [ source ] ++ unitsByKey.${component.key}.${source}.reached
                ) group.sources
              ) component.groups
            ) components
          )
      )
    )
  ) resolved.compiled;
in
row:
let
  inherit (row) system toolchain;
  plan = resolved.variant row;
  inherit (plan) variant;
  recipe = (import ../recipes.nix).${system};
  tools = recipe.toolchain toolchain;
  # NB: an `inherit` from the call would make Nix compute it twice.
  own = content (plan.id // { files = filesOf.${row.compilers}; });
  inherit (own) namespace package;

  # The objects of each group, with its driver.
  compiled = builtins.concatLists (
    builtins.genList (
      at:
      let
        component = builtins.elemAt resolved.compiled.${row.compilers} at;
        inherit (builtins.elemAt plan.components at) units;
        known = builtins.elemAt shared.${row.compilers} at;
      in
      builtins.genList (
        index:
        let
          group = builtins.elemAt units index;
          objects = builtins.elemAt known index;
        in
        {
          inherit (group) driver;
          objects =
            if objects != null then
              objects
            else
              compile {
                inherit component namespace recipe;
                toolchain = tools;
              } group;
        }
      ) (builtins.length units)
    ) (builtins.length plan.components)
  );
  objectsOf =
    isWanted:
    builtins.concatMap (group: group.objects) (builtins.filter (group: isWanted group.driver) compiled);
  objects = objectsOf (driver: driver != "metal");

  library = recipe.link {
    name = "${name}-${variant}-library";
    toolchain = tools;
    library = "${namespace}.${plan.link.extension}";
    inherit namespace objects;
    shaders = objectsOf (driver: driver == "metal");
    inherit (framework) registration;
    archs = plan.link.archs or [ ];
    moreArchs = plan.link.moreArchs or false;
    openmp = plan.link.openmp or false;
    inherit (plan.link)
      driver
      flags
      libraries
      policy
      ;
  };
in
{
  inherit
    library
    name
    objects
    plan
    row
    system
    toolchain
    ;
  inherit (plan) bundle variant;
  inherit (row) backend;
  buildId = namespace;
  # Evaluating names of variants touches none of the above.
  package = package recipe {
    inherit library variant;
    inherit (plan) metadata;
    opNamespace = plan.opNamespace or null;
    inherit (framework) ops;
  };
}
