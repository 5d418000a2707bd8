# The Python that runs torch and the `kernels` client, with its headers, from Debian packages.
{
  name,
  host,
  pins,
  run,
}:
let
  packages = pins.byName "${name}-packages";
in
run {
  name = "${name}-interpreter";
  script = ./interpreter.sh;
  debs = pins.family "${name}-runtime" ++ pins.family name;
  # The packages that `python -m venv` puts into a virtual environment.
  ensurepip = [
    packages.pip
    packages.setuptools
  ];
  inherit (host) libraries loader;
}
