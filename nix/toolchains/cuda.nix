# The CUDA toolkit from NVIDIA's wheels: nvcc and what it calls, headers, libcudart.
{
  name,
  host,
  pins,
  run,
}:
let
  toolkit = run {
    inherit name;
    script = ./cuda.sh;
    # Whose loader and libc the programs run with.
    inherit (host) libraries loader;
    wheels = pins.family name;
    # Header trees of the math libraries, without the libraries (hundreds of MB that a kernel does
    # not link).
    headers = pins.family "${name}-headers";
  };
in
{
  inherit toolkit;
  include = [ "${toolkit}/include" ];
  libraries = [ "${toolkit}/lib64" ];
}
