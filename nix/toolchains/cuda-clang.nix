# A CUDA toolkit for clang, whose nvcc no package index has, from NVIDIA's wheels: ptxas,
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
    # Wheels, and trees of members of wheels. Each component of the toolkit is a folder in them.
    parts = pins.family name ++ pins.family "${name}-headers";
  };
in
{
  inherit toolkit;
  include = [ "${toolkit}/include" ];
  libraries = [ "${toolkit}/lib64" ];
}
