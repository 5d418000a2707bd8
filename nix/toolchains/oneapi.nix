# Intel's oneAPI compilers (icx, icpx with SYCL) and the headers of MKL, from Intel's packages.
{
  # "oneapi-2025.3"
  name,
  host,
  pins,
  run,
}:
let
  toolkit = run {
    inherit name;
    script = ./oneapi.sh;
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
  # The programs icx and icpx, which use the host compiler's headers and libraries.
  bin = toolkit;
  libraries = [ "${toolkit}/lib" ];
}
