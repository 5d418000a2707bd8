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
    # The programs run with the loader and the libc of the host compiler, and compile for its C++
    # library.
    inherit (host) libraries sysroot;
    tools = [ host.bin ];
    rpms = pins.family name;
  };
in
{
  inherit toolkit;
  include = [ "${toolkit}/include" ];
  # The program clang++, which uses the toolkit and the host compiler's headers.
  bin = "${toolkit}/kernel-builder";
  libraries = [ "${toolkit}/lib" ];
}
