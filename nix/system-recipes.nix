# The recipes of one building system; recipes.nix has them for all systems. They are lazy: a
# toolchain that no variant names is not evaluated, and one that many variants name is evaluated
# once.
{ system }:
let
  pins = import ./pins.nix { inherit system; };
  linux = (import ./linux.nix).${system};
  seed = import ./seed.nix { inherit pins system; };
  runs = import ./run.nix { inherit seed system; };
  run = { name, ... }@attrs: runs attrs { inherit name; };
  manylinux = import ./toolchains/manylinux.nix { inherit linux run; };
  abi = import ./abi {
    inherit system;
    interpreter = interpreters.${stepPython} or null;
  };

  hostRecipe =
    name:
    if name == "xcode" then
      ./toolchains/xcode.nix
    else if builtins.match "gcc-toolset-.*" name != null then
      ./toolchains/gcc-toolset.nix
    else
      ./toolchains/host.nix;
  # The values of a function of the names of families, by name.
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
  # The host compiler of a name, which may have no pins (xcode).
  hostTools = name: hosts.${name} or (hostOf name);
  # A toolchain by host and family, from the recipe of its kind.
  byHost =
    recipe: more:
    let
      toolchainsOn =
        host:
        forFamilies (
          name: import recipe ({ inherit name pins run; } // { host = hostTools host; } // more)
        );
      toolchains = forFamilies toolchainsOn;
    in
    host: name: (toolchains.${host} or (toolchainsOn host)).${name};
  recipes = {
    cuda = byHost ./toolchains/cuda.nix { };
    cuda-clang = byHost ./toolchains/cuda-clang.nix { };
    clang = byHost ./toolchains/clang.nix { };
    rocm = byHost ./toolchains/rocm.nix { };
    oneapi = byHost ./toolchains/oneapi.nix { };
    torch = byHost ./toolchains/torch.nix { interpreter = null; };
    # Torch from wheels that a Python has to unpack, by the name of that Python.
    torchUnpackedBy = forFamilies (
      name: byHost ./toolchains/torch.nix { interpreter = interpreters.${name}; }
    );
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
  # The Python of steps that every variant has. macOS has its own.
  stepPython = "${(builtins.fromJSON (builtins.readFile ./python/toolchain.json)).python}-interpreter";
  headers = forFamilies pins.headers;
  pythons = forFamilies (name: import ./toolchains/python.nix { inherit name pins run; });
  program = import ./program.nix { inherit run seed; };
  familiesOf = import ./kernel/families.nix { inherit pins stepPython; };
  # NB: whoever lacks the program has a clone with the script, which needs pip, apt and Nix alone.
  fetchTool = "`kernel-builder fetch --tool`, or scripts/fetch-tool.py of kernel-builder's repository";
  fetchImage = "run `kernel-builder fetch --image`";
  tool =
    cure:
    import ./tool {
      pins = import ./pins.nix { inherit cure system; };
      inherit hostTools run system;
    };

  # The toolchain of one variant, from the names of families that its row of the release table has.
  toolchain =
    {
      host,
      python ? null,
      torch ? null,
      tvm-ffi ? null,
      cuda ? null,
      # The compiler of CUDA code, if it is not nvcc.
      clang ? null,
      rocm ? null,
      oneapi ? null,
      # The Python that runs build steps.
      interpreter ? null,
    }:
    let
      ifNamed = name: make: if name == null then null else make name;
      ifNamedOnHost = name: toolchains: ifNamed name (toolchains host);
    in
    {
      host = hostTools host;
      interpreter = ifNamed interpreter (name: interpreters.${name});
      # Names that its libraries define, for checks of native files.
      names = abi.names { inherit cuda torch; };
      python = ifNamed python (name: pythons.${name});
      # Headers and libraries of the framework that binds the kernel to Python: torch or tvm-ffi.
      framework =
        if torch != null then
          (if interpreter == null then recipes.torch else recipes.torchUnpackedBy.${interpreter}) host torch
        else
          import ./toolchains/tvm-ffi.nix {
            name = tvm-ffi;
            inherit pins;
          };
      cuda = ifNamedOnHost cuda (if clang == null then recipes.cuda else recipes.cuda-clang);
      clang = ifNamedOnHost clang recipes.clang;
      rocm = ifNamedOnHost rocm recipes.rocm;
      oneapi = ifNamedOnHost oneapi recipes.oneapi;
    };
in
{
  inherit system toolchain;

  # The folders of a library of headers: by the name of its family, and from an archive that
  # build.toml describes.
  inherit headers;
  headerArchive = import ./toolchains/header-archive.nix { inherit pins run; };

  # The program kernel-builder; null if this system cannot build it.
  tool = tool "run ${fetchTool}";
  # The same program for the generation of build.nix. Its missing pins name another cure.
  generator = tool "run `kernel-builder generate` in the kernel's folder and commit build.nix, or ${fetchTool}";
  # The container image of the program, a function of the variants whose toolchains it has.
  image = import ./image {
    pins = import ./pins.nix {
      inherit system;
      cure = fetchImage;
    };
    interpreter = interpreters.${stepPython};
    tool = tool fetchImage;
    inherit
      linux
      manylinux
      run
      seed
      system
      toolchain
      ;
  };
  # The Rust that compiles it. scripts/fetch-tool.py runs its cargo.
  inherit (import ./tool/rust.nix { inherit hostTools pins run; }) rust;

  # Pythons with torch and the `kernels` client for shells and checks, then the shells and checks
  # themselves.
  python = import ./python {
    inherit hostTools run seed;
    pins = import ./pins.nix {
      inherit system;
      cure = "run `kernel-builder fetch --check`, or `--shell` for a shell, in the kernel's folder";
    };
  };
  shell = import ./shell { inherit program seed system; };
  inherit hostTools;
  interactiveBash = seed;
  check = import ./check { inherit run; };
  testProgram = import ./check/program.nix { inherit program; };

  compile = import ./kernel/compile.nix {
    inherit runs;
    environments = import ./kernel/environment.nix { inherit run; };
  };
  objects = import ./kernel/objects.nix { inherit run; };
  link = import ./kernel/link.nix { inherit abi manylinux run; };
  inherit manylinux;
  package = import ./kernel/package.nix {
    inherit abi run;
    # NB: `families` of src/matrix/table.rs and variant.rs name the same.
    interpreter = interpreters.${stepPython} or null;
  };
  inherit familiesOf;
  bundle = import ./kernel/bundle.nix {
    inherit familiesOf run;
    familyFiles = forFamilies (name: "${pins.path name}");
    interpreter = interpreters.${stepPython} or null;
  };
  inherit program;
}
