# A container image in which kernel-builder builds kernels, as an OCI image layout: a small Debian
# with Nix, git, pip and apt; this program; and the unpacked toolchains of some variants, which then
# need no network. Each of the three is a layer.
{
  # The Python that runs build steps.
  interpreter,
  linux,
  manylinux,
  pins,
  run,
  seed,
  system,
  tool,
  # From ../system-recipes.nix.
  toolchain,
}:
{
  # Names of variants of the registry profile.
  variants ? [ ],
}:
let
  program = ./image.py;
  chroot = ./chroot.sh;
  tools = [ interpreter ];
  version = import ../version.nix;

  userland = run {
    name = "image-userland";
    script = ./userland.sh;
    debs = pins.family "image";
    configure = ./configure.sh;
    nixConf = ./nix.conf;
    inherit chroot program tools;
  };
  programLayer = run {
    name = "image-program";
    script = ./program-layer.sh;
    inherit program tool tools;
  };

  rows = builtins.filter (row: row.system == system && row.profile == "registry") (
    (import ../release-table.nix).rows
  );
  rowOf =
    name:
    let
      found = builtins.filter (row: row.name == name) rows;
    in
    if found == [ ] then
      throw "image: no variant is named ${name}; the variants of ${system} are ${
        builtins.concatStringsSep ", " (map (row: row.name) rows)
      }"
    else
      builtins.head found;
  # The store paths that steps of a row's variants have as inputs.
  pathsOf =
    row:
    let
      parts = toolchain row.toolchain;
      inherit (parts) host;
      # ../kernel/link.nix links with the same libraries.
      platform =
        if host.keepsPolicy then
          [ ]
        else
          [
            (manylinux {
              inherit host;
              policy = builtins.removeAttrs row.policy [
                "GOMP"
                "OMP"
              ];
            })
          ];
      pathsOfPart =
        part:
        builtins.filter (path: path != null) [
          (part.bin or null)
          (part.sysroot or null)
          (part.toolkit or null)
          (part.leanHeaders or null)
        ]
        ++ (part.include or [ ])
        ++ (part.libraries or [ ]);
    in
    platform
    ++ builtins.concatMap pathsOfPart (
      builtins.filter builtins.isAttrs [
        (builtins.removeAttrs host [ "libraries" ])
        parts.python
        parts.framework
        parts.cuda
        parts.clang
      ]
    );
  listing = run {
    name = "image-toolchains";
    script = ./listing.sh;
    paths = [
      seed
      interpreter
    ]
    ++ builtins.concatMap (name: pathsOf (rowOf name)) variants;
  };
  toolchains = run {
    name = "image-toolchains-layer";
    script = ./toolchains.sh;
    variants = builtins.concatStringsSep " " variants;
    exportReferencesGraph.closure = [ listing ];
    inherit
      chroot
      listing
      program
      tools
      userland
      ;
  };
in
run {
  name = "kernel-builder-image-${version}";
  script = ./layout.sh;
  inherit program tools;
  layers = [ userland ] ++ (if variants == [ ] then [ ] else [ toolchains ]) ++ [ programLayer ];
  imageName = "kernel-builder";
  tag = version;
  architecture = linux.image;
  config = {
    Entrypoint = [ "kernel-builder" ];
    Cmd = [ "--help" ];
    Env = [
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
      "LANG=C.UTF-8"
    ];
    WorkingDir = "/kernel";
    Labels = {
      "org.opencontainers.image.title" = "kernel-builder";
      "org.opencontainers.image.version" = version;
    };
  };
  # An image goes to machines without this store.
  allowedReferences = [ ];
}
