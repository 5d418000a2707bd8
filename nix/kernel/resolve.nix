# build.nix and a row of the release table -> one variant in full: its units with all of their
# flags, its link, its metadata. It is pure data, without derivations. src/plan/ computes the same
# from build.toml; tests/plan/agreement.rs compares the two for every variant.
{
  name,
  # The folder of the Python package, and the extensions of its files.
  python,
  # Fields of metadata.json.
  metadata,
  # Hashes of the keys of build.toml that native code depends on, by backend.
  salts,
  # The sections of build.toml with native code: the binding, then the kernel sections.
  sections ? [ ],
  # GPU architectures by compute, e.g. { "cu128 cu129" = "9.0 10.0"; }.
  archs ? { },
  # Architectures that a linked library must hold device code for, if they are not `archs`.
  linkedArchs ? archs,
  # Macros that every unit gets.
  defines ? [ ],
  # C++ standards of units without a framework, by compilers, if they are not the release table's.
  standards ? { },
  # The op namespace of the operators, if it is not the build id.
  opNamespace ? null,
  # The first part of the names of variants that keep torch's stable ABI, by backend.
  stableAbi ? { },
  # Names of the variants that are built by default, if rows do not say it.
  bundled ? null,
  ...
}:
let
  table = import ../release-table.nix;
  words = text: builtins.filter builtins.isString (builtins.split " " text);
  # The drivers that can compile a unit in parts, one for each architecture.
  cudaDrivers = [
    "clang"
    "nvcc"
  ];
  optional = name: value: if value == null then { } else { ${name} = value; };

  # A value of build.nix for one row. A value that differs between rows is a set with one attribute,
  # which is the attribute of rows that it depends on: { backend = { cpu = …; cuda = …; }; }.
  valueFor =
    row: default: value:
    if builtins.isAttrs value then
      let
        attribute = builtins.head (builtins.attrNames value);
      in
      value.${attribute}.${row.${attribute} or ""} or default
    else
      value;

  # { "cu128 cu129" = "9.0 10.0"; } -> { cu128 = [ "9.0" "10.0" ]; cu129 = [ "9.0" "10.0" ]; }
  byCompute =
    archs:
    builtins.listToAttrs (
      builtins.concatMap (
        computes:
        map (name: {
          inherit name;
          value = words archs.${computes};
        }) (words computes)
      ) (builtins.attrNames archs)
    );
  archsOf = byCompute archs;
  linkedArchsOf = byCompute linkedArchs;
  sectionsByCompute = map (
    section: if section ? archs then section // { archs = byCompute section.archs; } else section
  ) sections;
  archsFor = section: compilers: (section.archs or archsOf).${compilers.compute} or [ ];
  # Whether some compilers compile a section. They do not if their toolkit has none of its
  # architectures.
  isActive =
    compilers: section:
    !(section ? backend)
    ||
      section.backend == compilers.backend
      && (!(section ? archs) || section.archs ? ${compilers.compute});

  # How the units of a group are compiled in parts; null if each is compiled in one piece.
  split =
    compilers: section: group: driver:
    let
      parts = map (arch: table.architectures.${driver}.${arch}) (archsFor section compilers);
      whole = words (section.whole or "");
      fatbinary = section.fatbinary.${driver} or [ ];
      # NB: nvcc's host code knows the device functions of one architecture only. In a whole unit,
      # that is the last one.
      followsLast = driver == "nvcc" && group.dependsOnArch or false;
      host = builtins.elemAt parts (if followsLast then builtins.length parts - 1 else 0);
      # The numbers of the architectures, each once, in ascending order.
      numbers = builtins.foldl' (
        numbers: part: if builtins.elem part.number numbers then numbers else numbers ++ [ part.number ]
      ) [ ] parts;
    in
    if
      !(builtins.elem driver cudaDrivers)
      || builtins.length parts < 2
      || builtins.elem driver whole
      || builtins.elem compilers.compute whole
    then
      null
    else
      {
        archs = map (part: builtins.removeAttrs part [ "number" ]) parts;
        host = host.sm;
      }
      // optional "fatbinary" (if fatbinary == [ ] then null else fatbinary)
      // optional "archList" (
        if group.listsArchs or false then builtins.concatStringsSep "," (map toString numbers) else null
      );

  # A group of units with the driver and the flags of some compilers, and `standardFlag`: a function
  # from a C++ standard to the list of flags that ask for it.
  groupFor =
    compilers: section: group:
    let
      inherit (compilers.drivers.${group.kind}) driver flags;
      standard = compilers.drivers.${group.kind}.standard or null;
      parts = split compilers section group driver;
      archFlags = builtins.concatMap (
        arch:
        let
          part = table.architectures.${driver}.${arch};
        in
        part.flags ++ part.ptx or [ ]
      ) (archsFor section compilers);
      families = valueFor compilers [ ] (section.headerLibraries or [ ]);
      archives = valueFor compilers [ ] (section.headerArchives or [ ]);
    in
    {
      standardFlag = number: if standard == null then [ ] else [ "${standard}${toString number}" ];
      inherit driver;
      inherit (group) sources;
      namespace = group.namespace or "none";
      framework = group.framework or false;
      flags =
        (if group.kind == "metal" then [ ] else valueFor compilers [ ] defines)
        ++ flags
        ++ (if parts == null && group.kind == "device" then archFlags else [ ])
        ++ valueFor compilers [ ] (section.flags.${driver} or [ ]);
    }
    // optional "heavy" (if group.heavy or false then true else null)
    // optional "leanHeaders" (
      if (group.framework or false) && !(section.leanHeaders or true) then false else null
    )
    // optional "split" parts
    // optional "headerLibraries" (if families == [ ] then null else families)
    // optional "headerArchives" (if archives == [ ] then null else archives);
  # A group with the macros and the C++ standard that its headers ask for. They come first, so that
  # flags of build.toml prevail.
  addFlags =
    required: group:
    builtins.removeAttrs group [ "standardFlag" ]
    // (
      if group.driver == "metal" then
        { }
      else
        { flags = required.defines ++ group.standardFlag required.standard ++ group.flags; }
    );

  # The sections that some compilers compile, by these compilers. `forRow` of a group is a function
  # from a row to the group with its flags. `shared` is the same group if it has the same objects
  # for all rows, else null.
  compiled = builtins.mapAttrs (
    key: compilers:
    let
      withoutFramework = {
        defines = [ ];
        standard = standards.${key} or compilers.standard;
      };
      group =
        section: written:
        let
          group = groupFor compilers section written;
          groupWithFlags = addFlags withoutFramework group;
        in
        if group.framework then
          {
            inherit (group) sources;
            shared = null;
            forRow = row: addFlags row group;
          }
        else
          {
            inherit (group) sources;
            shared = if group.namespace == "compiled" then null else groupWithFlags;
            forRow = _: groupWithFlags;
          };
    in
    map (section: {
      inherit (section) key name include;
      openmp = section.openmp or false;
      moreArchs = section.moreArchs or false;
      groups = map (group section) (valueFor compilers [ ] section.units);
    }) (builtins.filter (isActive compilers) sectionsByCompute)
  ) table.compilers;

  metadataOf =
    row: archs:
    let
      values = builtins.mapAttrs (_: valueFor row null) metadata;
      present = builtins.filter (name: values.${name} != null) (builtins.attrNames values);
    in
    builtins.listToAttrs (
      map (name: {
        inherit name;
        value = values.${name};
      }) present
    )
    // {
      inherit name;
      backend = {
        type = row.backend;
      }
      // optional "archs" (if archs == [ ] then null else archs);
    };
  idOf = backend: {
    prefix = "_${baseNameOf python.dir}_${backend}";
    salt = salts.${backend};
  };
in
{
  inherit compiled;

  # The variant of a row.
  variant =
    row:
    let
      components = map (component: {
        inherit (component) name include;
        units = map (group: group.forRow row) component.groups;
      }) compiled.${row.compilers};
      anyComponent =
        attribute:
        builtins.any (component: valueFor row false component.${attribute}) compiled.${row.compilers};
      hasDeviceCode = builtins.any (
        component: builtins.any (group: builtins.elem group.driver cudaDrivers) component.units
      ) components;
      linked = if hasDeviceCode then linkedArchsOf.${row.compute} or [ ] else [ ];
      openmp = anyComponent "openmp";
      namespace = valueFor row null opNamespace;
      variant =
        if stableAbi ? ${row.backend} then
          "${stableAbi.${row.backend}}-${row.compute}-${row.system}"
        else
          row.name;
    in
    {
      inherit components variant;
      inherit (row) system toolchain;
      bundle = if bundled == null then row.bundle else builtins.elem variant bundled;
      id = idOf row.backend;
      link =
        row.link
        // {
          policy =
            if openmp then
              row.policy
            else
              builtins.removeAttrs row.policy [
                "GOMP"
                "OMP"
              ];
        }
        // optional "archs" (if linked == [ ] then null else linked)
        // optional "moreArchs" (if hasDeviceCode && anyComponent "moreArchs" then true else null)
        // optional "openmp" (if openmp then true else null);
      metadata = metadataOf row (archsOf.${row.compute} or [ ]);
    }
    // optional "opNamespace" namespace;

  # A variant of Python alone, for a backend.
  python =
    {
      # The variant's name.
      variant,
      backend,
    }:
    {
      inherit variant;
      bundle = true;
      id = idOf backend;
      metadata = metadataOf { inherit backend; } (archsOf.${backend} or [ ]);
    };
}
