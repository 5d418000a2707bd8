# The recipes behind lib/, for one system that builds. Lazy: a toolchain that no variant names costs nothing.
# Not a public interface; kernel repositories use lib/.
{ system }:
let
  pins = import ./pins.nix { inherit system; };
  seed = import ./seed.nix { inherit pins system; };
  run = import ./run.nix { inherit seed system; };
  manylinux = import ./toolchains/manylinux.nix { inherit run; };

  hostRecipe =
    name:
    if name == "xcode" then
      ./toolchains/xcode.nix
    else if builtins.match "gcc-toolset-.*" name != null then
      ./toolchains/gcc-toolset.nix
    else
      ./toolchains/host.nix;
  hostTools =
    name:
    import (hostRecipe name) {
      inherit name pins run;
    };
  program = import ./program.nix { inherit run seed; };
  tool =
    cure:
    import ./tool {
      pins = import ./pins.nix { inherit cure system; };
      inherit hostTools run system;
    };
in
{
  # The toolchain of one variant, from the names that its row in src/matrix/toolchains.toml gives.
  toolchain =
    {
      host,
      python ? null,
      torch ? null,
      tvm-ffi ? null,
      cuda ? null,
      # What compiles CUDA where it is not nvcc.
      clang ? null,
      rocm ? null,
      oneapi ? null,
      # What runs build steps that are written in Python.
      interpreter ? null,
    }:
    let
      tools = hostTools host;
      optional =
        name: recipe: more:
        if name == null then null else import recipe ({ inherit name pins run; } // more);
      onHost = name: recipe: optional name recipe { host = tools; };
      interpreterTools = optional interpreter ./toolchains/interpreter.nix { };
    in
    {
      host = tools;
      interpreter = interpreterTools;
      python = optional python ./toolchains/python.nix { };
      # Headers and libraries of what binds the kernel to Python: torch or tvm-ffi.
      framework =
        if torch != null then
          import ./toolchains/torch.nix {
            name = torch;
            host = tools;
            interpreter = interpreterTools;
            inherit pins run;
          }
        else
          import ./toolchains/tvm-ffi.nix {
            name = tvm-ffi;
            inherit pins;
          };
      cuda = onHost cuda (if clang == null then ./toolchains/cuda.nix else ./toolchains/cuda-clang.nix);
      clang = onHost clang ./toolchains/clang.nix;
      rocm = onHost rocm ./toolchains/rocm.nix;
      oneapi = onHost oneapi ./toolchains/oneapi.nix;
    };

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

  compile = import ./kernel/compile.nix { inherit run; };
  link = import ./kernel/link.nix { inherit manylinux run; };
  inherit manylinux;
  package = import ./kernel/package.nix { inherit run; };
  bundle = import ./kernel/bundle.nix { inherit run; };
  inherit program;
}
