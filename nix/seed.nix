# The first programs: static bash, busybox and patchelf, put into the store as one tree by
# `kernel-builder fetch`. On macOS, where nothing static exists, links to those of the system.
{ pins, system }:
let
  binaries = builtins.head (pins.family "seed");
in
if builtins.match ".*-darwin" system != null then
  derivation {
    inherit system;
    name = "seed";
    builder = "/bin/bash";
    args = [
      "-e"
      ./seed-darwin.sh
    ];
    __noChroot = true;
  }
else
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
