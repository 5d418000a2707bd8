# ROCm from AMD's packages: clang for HIP, device libraries, headers, and the runtime that kernels
# are linked with.
{
  # "rocm-7.1"
  name,
  host,
  pins,
  run,
}:
let
  toolkit = run {
    inherit name;
    script = ./rocm.sh;
    unpack = ./rpm.sh;
    relocate = ./relocate.sh;
    # Whose loader and libc the programs run with, and whose C++ they compile for.
    inherit (host) libraries sysroot;
    tools = [ host.bin ];
    rpms = pins.family name;
  };
in
{
  inherit toolkit;
  include = [ "${toolkit}/include" ];
  # clang++, aimed at the toolkit and at the host compiler's headers.
  bin = "${toolkit}/kernel-builder";
  libraries = [ "${toolkit}/lib" ];
}
