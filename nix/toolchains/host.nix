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
  # The loader of programs that run with the sysroot's libc.
  loader = "${sysroot}/${linux.loader}";
  # The programs gcc and g++, which use the sysroot, and the binutils.
  bin = run {
    name = "${name}";
    script = ./host-bin.sh;
    inherit sysroot triplet;
  };
  # The folder of the sysroot's libraries.
  libraries = "${sysroot}/usr/lib/${triplet}";
  # The sysroot's libraries are newer than any policy allows.
  keepsPolicy = false;
}
