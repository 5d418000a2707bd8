# Wheels, unpacked together as pip would install them: $out/site for Python, $out/bin for their
# programs.
{ run }:
{
  name,
  wheels,
  host,
  # From interpreter.nix; it unpacks, and compiles the Python files.
  interpreter,
}:
run {
  inherit name wheels;
  script = ./wheels.sh;
  unpackWheels = ./unpack_wheels.py;
  compilePackages = ./compile_packages.py;
  inherit (host) libraries loader;
  tools = [ interpreter ];
}
