# Python's C headers. Extensions use the limited API, so the headers of one Python serve all
# Pythons.
{
  name,
  pins,
  run,
}:
let
  headers = run {
    inherit name;
    script = ./python.sh;
    debs = pins.family name;
  };
in
{
  include = [ "${headers}/include" ];
}
