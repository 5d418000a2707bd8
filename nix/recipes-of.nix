# The recipes of one system that builds (recipes.nix has those of all). Lazy: a toolchain that no
# variant names costs nothing, and one that many name is evaluated once.
{ system }:
let
  pins = import ./pins.nix { inherit system; };
  linux = (import ./linux.nix).${system};
  seed = import ./seed.nix { inherit pins system; };
  runs = import ./run.nix { inherit seed system; };
  run = { name, ... }@attrs: runs attrs { inherit name; };
  manylinux = import ./toolchains/manylinux.nix { inherit linux run; };

  hostRecipe =
    name:
    if name == "xcode" then
      ./toolchains/xcode.nix
    else if builtins.match "gcc-toolset-.*" name != null then
      ./toolchains/gcc-toolset.nix
    else
      ./toolchains/host.nix;
  # The value that a function gives for each family of pins, by its name.
  forFamilies =
    make: builtins.mapAttrs (name: _: make name) (builtins.listToAttrs (map named pins.families));
  named = name: {
    inherit name;
    value = null;
  };
  hostOf =
    name:
    import (hostRecipe name) {
      inherit
        linux
        name
        pins
        run
        ;
    };
  hosts = forFamilies hostOf;
  # Some hosts have no pins.
  hostTools = name: hosts.${name} or (hostOf name);
  # A recipe by host and family.
  byHost =
    recipe: more:
    let
      on =
        host:
        forFamilies (
          name: import recipe ({ inherit name pins run; } // { host = hostTools host; } // more)
        );
      known = forFamilies on;
    in
    host: name: (known.${host} or (on host)).${name};
  recipes = {
    cuda = byHost ./toolchains/cuda.nix { };
    cuda-clang = byHost ./toolchains/cuda-clang.nix { };
    clang = byHost ./toolchains/clang.nix { };
    rocm = byHost ./toolchains/rocm.nix { };
    oneapi = byHost ./toolchains/oneapi.nix { };
    torch = byHost ./toolchains/torch.nix { interpreter = null; };
    # Torch from wheels that Python has to unpack, by that Python.
    torchBy = forFamilies (name: byHost ./toolchains/torch.nix { interpreter = interpreters.${name}; });
  };
  interpreters = forFamilies (
    name:
    import ./toolchains/interpreter.nix {
      inherit
        linux
        name
        pins
        run
        ;
    }
  );
  headers = forFamilies pins.headers;
  pythons = forFamilies (name: import ./toolchains/python.nix { inherit name pins run; });
  program = import ./program.nix { inherit run seed; };
  tool =
    cure:
    import ./tool {
      pins = import ./pins.nix { inherit cure system; };
      inherit hostTools run system;
    };
in
{
  inherit system;

  # The toolchain of one variant, from the names that its row in src/matrix/toolchains.toml gives.
  toolchain =
    {
      host,
      python ? null,
      torch ? null,
      tvm-ffi ? null,
      cuda ? null,
      # The compiler of CUDA code where it is not nvcc.
      clang ? null,
      rocm ? null,
      oneapi ? null,
      # The Python that runs build steps.
      interpreter ? null,
    }:
    let
      optional = name: make: if name == null then null else make name;
      onHost = name: recipe: optional name (recipe host);
    in
    {
      host = hostTools host;
      interpreter = optional interpreter (name: interpreters.${name});
      python = optional python (name: pythons.${name});
      # Headers and libraries of the framework that binds the kernel to Python: torch or tvm-ffi.
      framework =
        if torch != null then
          (if interpreter == null then recipes.torch else recipes.torchBy.${interpreter}) host torch
        else
          import ./toolchains/tvm-ffi.nix {
            name = tvm-ffi;
            inherit pins;
          };
      cuda = onHost cuda (if clang == null then recipes.cuda else recipes.cuda-clang);
      clang = onHost clang recipes.clang;
      rocm = onHost rocm recipes.rocm;
      oneapi = onHost oneapi recipes.oneapi;
    };

  # The folders of a library of headers: by its family of pins, and from an archive that build.toml
  # describes.
  inherit headers;
  headerArchive = import ./toolchains/header-archive.nix { inherit pins run; };

  # The program kernel-builder; null where it cannot be built.
  tool = tool "run `kernel-builder fetch --tool`";
  # The same, for who only wants build.nix.
  generator = tool "run `kernel-builder generate` in the kernel's folder and commit build.nix, or `kernel-builder fetch --tool`";

  # Pythons with torch and the `kernels` client, for shells and checks, and these.
  python = import ./python {
    inherit hostTools run seed;
    pins = import ./pins.nix {
      inherit system;
      cure = "run `kernel-builder fetch --check`, or `--shell` for a shell, in the kernel's folder";
    };
  };
  shell = import ./shell { inherit seed system; };
  inherit hostTools;
  interactiveBash = seed;
  check = import ./check { inherit run; };
  testProgram = import ./check/program.nix { inherit program; };

  compile = import ./kernel/compile.nix {
    inherit runs;
    environments = import ./kernel/environment.nix { inherit run; };
  };
  objects = import ./kernel/objects.nix { inherit run; };
  link = import ./kernel/link.nix { inherit manylinux run; };
  inherit manylinux;
  package = import ./kernel/package.nix { inherit run; };
  bundle = import ./kernel/bundle.nix { inherit run; };
  inherit program;
}
