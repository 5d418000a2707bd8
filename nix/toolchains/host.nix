# The host compiler: Debian packages unpacked into one sysroot, its programs made to run from the store, and gcc/g++
# wrapped so that they use nothing but that sysroot.
{
  name,
  pins,
  run,
}:
let
  sysroot = run {
    name = "${name}-sysroot";
    script = ./host-sysroot.sh;
    debs = pins.family name;
  };
in
{
  inherit sysroot;
  # Programs: gcc, g++ (aimed at the sysroot) and the binutils.
  bin = run {
    name = "${name}";
    script = ./host-bin.sh;
    inherit sysroot;
  };
  # Where its libraries lie.
  libraries = "${sysroot}/usr/lib/x86_64-linux-gnu";
  # Its libraries are newer than any policy.
  keepsPolicy = false;
}
