# The host compiler: Debian packages unpacked into one sysroot, its programs made to run from the
# store, and gcc/g++ wrapped so that they use nothing but that sysroot.
{
  name,
  # From ../linux.nix.
  linux,
  pins,
  run,
}:
let
  inherit (linux) triplet;
  sysroot = run {
    name = "${name}-sysroot";
    script = ./host-sysroot.sh;
    debs = pins.family name;
    inherit (linux) loader triplet;
  };
in
{
  inherit sysroot triplet;
  # The loader of programs that run with its libc.
  loader = "${sysroot}/${linux.loader}";
  # Programs: gcc, g++ (aimed at the sysroot) and the binutils.
  bin = run {
    name = "${name}";
    script = ./host-bin.sh;
    inherit sysroot triplet;
  };
  # Where its libraries lie.
  libraries = "${sysroot}/usr/lib/${triplet}";
  # Its libraries are newer than any policy.
  keepsPolicy = false;
}
