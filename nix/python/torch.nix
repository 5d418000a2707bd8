# A torch that runs: links to the files of its unpacked wheel, beside the libraries of NVIDIA or
# their stand-ins. NB: one unpacked wheel, of a gigabyte, serves every environment.
{ run }:
{
  name,
  # From wheels.nix.
  torch,
  # NVIDIA's wheels from wheels.nix, or null.
  nvidia ? null,
  # Stand-ins from stubs.nix, or null.
  stubs ? null,
  # Whether torch says that it is made for CUDA, and its CMake package asks for CUDA.
  hasCuda,
  # From interpreter.nix.
  interpreter,
}:
run {
  inherit name torch;
  script = ./torch.sh;
  nvidia = if nvidia == null then "" else nvidia;
  stubs = if stubs == null then "" else stubs;
  withoutCuda = if hasCuda then "" else "1";
  tools = [ interpreter ];
}
