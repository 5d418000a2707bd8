# The first programs: static bash, busybox and patchelf, put into the store as one tree by `kernel-builder fetch`.
{ pins, system }:
let
  binaries = builtins.head (pins.family "seed");
in
derivation {
  inherit system;
  name = "seed";
  builder = "${binaries}/bin/bash";
  args = [
    "-eu"
    ./seed.sh
  ];
  inherit binaries;
}
