# Stand-ins for NVIDIA's libraries: with them, a torch made for CUDA runs on the CPU. They take 1 MB
# instead of 2 GB.
{ run }:
{
  interpreter,
  host,
  # From wheels.nix.
  torch,
}:
run {
  name = "cuda-runtime-stubs";
  script = ./stubs.sh;
  program = ./cuda_runtime_stubs.py;
  inherit torch;
  tools = [
    interpreter
    host.bin
  ];
}
