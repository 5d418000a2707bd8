# The CUDA toolkit from NVIDIA's wheels: nvcc and the programs that it calls, headers, libcudart.
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
    # The programs run with the loader and the libc of the host compiler.
    inherit (host) libraries loader;
    wheels = pins.family name;
    # Headers of the math libraries. The libraries themselves are left out: they take hundreds of
    # MB, and no kernel links them.
    headers = pins.family "${name}-headers";
  };
in
{
  inherit toolkit;
  include = [ "${toolkit}/include" ];
  libraries = [ "${toolkit}/lib64" ];
}
