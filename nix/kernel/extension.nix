# The variants of a kernel with native code: a function from a row of the release table to the
# derivations of its variant. resolve.nix says which units are compiled and how; this file makes
# derivations of them.
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

  # The objects of a group of units, as a function of the group.
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
      source: object "${name}-${source}" source (sources.requireCurrent units.${source}.inputs)
    ) group.sources;

  # The objects of each group by compilers, in the order of `resolved.compiled`. They are null for a
  # group that rows do not share.
  shared = builtins.mapAttrs (
    key: components:
    let
      recipe = (import ../recipes.nix).${compilers.${key}.system};
      toolchain = recipe.toolchain compilers.${key}.toolchain;
      objectsOfGroup =
        component: group:
        let
          objects = compile { inherit component recipe toolchain; } group;
          responseFile = recipe.objects {
            name = "${name}-${group.driver}-objects";
            inherit objects;
            objectsOf = group.driver;
          };
        in
        # NB: Nix takes time for each input of a link, and many variants link the same objects.
        if group.driver == "metal" || builtins.length objects <= import ./input-limit.nix then
          objects
        else
          [ "@${responseFile}" ];
    in
    map (
      component:
      map (
        group: if group.shared == null then null else objectsOfGroup component group.shared
      ) component.groups
    ) components
  ) resolved.compiled;

  # The kernel's files that the libraries of some compilers are made of, sorted, by these compilers.
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
  # The same files with their hashes, as one file of the store.
  hashesOf = builtins.mapAttrs (_: sources.list) filesOf;
in
row:
let
  inherit (row) system toolchain;
  planned = resolved.variant row;
  plan = planned // {
    id = planned.id // {
      files = filesOf.${row.compilers};
    };
  };
  inherit (plan) variant;
  recipe = (import ../recipes.nix).${system};
  tools = recipe.toolchain toolchain;
  # NB: an `inherit` from the call itself would make Nix compute it twice.
  contentOfVariant = content plan.id;
  inherit (contentOfVariant) namespace package placeholder;

  # A library gets the build id in its package, so that a change of Python alone links nothing. NB:
  # objects that were compiled with the build id have it in places that nobody knows, and a library
  # for macOS is signed.
  isNamedLater =
    plan.link.driver != "apple-clang++"
    && !builtins.any (
      component: builtins.any (group: group.namespace == "compiled") component.units
    ) plan.components;

  # The objects of each group, with the group's driver.
  compiled = builtins.concatLists (
    builtins.genList (
      componentIndex:
      let
        component = builtins.elemAt resolved.compiled.${row.compilers} componentIndex;
        inherit (builtins.elemAt plan.components componentIndex) units;
        sharedObjects = builtins.elemAt shared.${row.compilers} componentIndex;
      in
      builtins.genList (
        groupIndex:
        let
          group = builtins.elemAt units groupIndex;
          objects = builtins.elemAt sharedObjects groupIndex;
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
  objectsOfDrivers =
    isWanted:
    builtins.concatMap (group: group.objects) (builtins.filter (group: isWanted group.driver) compiled);
  objects = objectsOfDrivers (driver: driver != "metal");

  library = recipe.link {
    name = "${name}-${variant}-library";
    inherit variant;
    toolchain = tools;
    library = "${name}.${plan.link.extension}";
    namespace = if isNamedLater then placeholder else namespace;
    inherit isNamedLater objects;
    shaders = objectsOfDrivers (driver: driver == "metal");
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
  # The archives of headers that build.toml describes, and files with the hashes of sources.
  archives = kernel.archives or { };
  sources = [
    hashesOf.${row.compilers}
    contentOfVariant.pythonHashes
  ];
  # NB: lazy, so that a list of the names of variants computes no derivation.
  package = package recipe {
    inherit library variant;
    toolchain = tools;
    inherit (plan) metadata;
    opNamespace = plan.opNamespace or null;
    inherit (framework) ops;
  };
}
