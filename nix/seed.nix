# The first programs: static bash, busybox and patchelf, put into the store as one tree by
# `kernel-builder fetch`. On macOS, which has no static programs, they are links to the system's
# programs.
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
