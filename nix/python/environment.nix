# A Python with packages: $out/bin has python3 and the programs of all packages, and $out/site has
# the files by which Python finds the packages.
{ run, seed }:
{
  name,
  interpreter,
  # From wheels.nix.
  wheels,
  # Patterns of libraries that Python loads when it starts, before the packages that need them.
  preload ? [ ],
}:
run {
  inherit
    interpreter
    name
    preload
    seed
    wheels
    ;
  script = ./environment.sh;
  builtKernel = ./built_kernel.py;
  scripts = ./console_scripts.py;
  tools = [ interpreter ];
}
