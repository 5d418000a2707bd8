# The recipes behind lib/, for one system that builds. Lazy: a toolchain that no variant names costs nothing.
# Not a public interface; kernel repositories use lib/.
{ system }:
let
  pins = import ./pins.nix { inherit system; };
  seed = import ./seed.nix { inherit pins system; };
  run = import ./run.nix { inherit seed system; };
  manylinux = import ./toolchains/manylinux.nix { inherit run; };
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
    }:
    let
      hostTools = import ./toolchains/host.nix {
        name = host;
        inherit pins run;
      };
    in
    {
      host = hostTools;
      python =
        if python == null then
          null
        else
          import ./toolchains/python.nix {
            name = python;
            inherit pins run;
          };
      # Headers and libraries of what binds the kernel to Python: torch or tvm-ffi.
      framework =
        if torch != null then
          import ./toolchains/torch.nix {
            name = torch;
            host = hostTools;
            inherit pins run;
          }
        else
          import ./toolchains/tvm-ffi.nix {
            name = tvm-ffi;
            inherit pins;
          };
      cuda =
        if cuda == null then
          null
        else
          import (if clang == null then ./toolchains/cuda.nix else ./toolchains/cuda-clang.nix) {
            name = cuda;
            host = hostTools;
            inherit pins run;
          };
      clang =
        if clang == null then
          null
        else
          import ./toolchains/clang.nix {
            name = clang;
            host = hostTools;
            inherit pins run;
          };
    };

  compile = import ./kernel/compile.nix { inherit run; };
  link = import ./kernel/link.nix { inherit manylinux run; };
  inherit manylinux;
  package = import ./kernel/package.nix { inherit run; };
  bundle = import ./kernel/bundle.nix { inherit run; };
  copyApp = import ./kernel/copy-app.nix { inherit run seed; };
}
