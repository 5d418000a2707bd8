# A Python that runs build steps written in Python (torch's hipify). Kernels never see it.
{
  name,
  pins,
  run,
}:
run {
  inherit name;
  script = ./interpreter.sh;
  relocate = ./relocate.sh;
  debs = pins.family name;
}
