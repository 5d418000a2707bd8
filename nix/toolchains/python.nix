# Python's C headers. Extensions use the limited API, so one Python serves all.
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
