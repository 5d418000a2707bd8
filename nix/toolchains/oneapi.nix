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
    # Whose loader and libc the programs run with, and whose C++ they compile for.
    inherit (host) libraries sysroot;
    tools = [ host.bin ];
    rpms = pins.family name;
  };
in
{
  inherit toolkit;
  include = [ "${toolkit}/include" ];
  # icx and icpx, aimed at the host compiler's headers and libraries.
  bin = toolkit;
  libraries = [ "${toolkit}/lib" ];
}
