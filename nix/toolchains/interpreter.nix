# A Python that runs build steps written in Python (torch's hipify). Kernels never see it.
{
  name,
  # From ../linux.nix.
  linux,
  pins,
  run,
}:
run {
  inherit name;
  script = ./interpreter.sh;
  relocate = ./relocate.sh;
  inherit (linux) loader;
  debs = pins.family name;
}
