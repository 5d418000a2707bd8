# The Python that runs torch and the `kernels` client, with its headers, from Debian packages.
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
