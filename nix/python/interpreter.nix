# Python as a program, with its headers, from Debian packages: what runs torch and the `kernels`
# client.
{
  name,
  host,
  pins,
  run,
}:
run {
  name = "${name}-interpreter";
  script = ./interpreter.sh;
  debs = pins.family "${name}-runtime" ++ pins.family name;
  inherit (host) libraries loader;
}
