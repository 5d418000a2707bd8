# The Python that runs build steps, such as torch's hipify. No kernel depends on it when it runs.
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
