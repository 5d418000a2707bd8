# A CUDA toolkit of which no package index has an nvcc, from NVIDIA's wheels, for clang: ptxas,
# libdevice, headers, libcudart, and a fatbinary of our own.
{
  name,
  host,
  pins,
  run,
}:
let
  toolkit = run {
    inherit name;
    script = ./cuda-clang.sh;
    tools = [ host.bin ];
    inherit (host) libraries loader;
    fatbinary = ./cuda-clang/fatbinary.c;
    # Wheels and trees of their members, in which each component has a folder.
    parts = pins.family name ++ pins.family "${name}-headers";
  };
in
{
  inherit toolkit;
  include = [ "${toolkit}/include" ];
  libraries = [ "${toolkit}/lib64" ];
}
