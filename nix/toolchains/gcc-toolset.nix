# The host compiler of the vendor profile: AlmaLinux's gcc-toolset, and the glibc 2.28 and libstdc++
# of that system, which are those that manylinux_2_28 promises. So what it links needs no other
# libraries (nix/toolchains/manylinux.nix).
{
  # "gcc-toolset-14"
  name,
  # From ../linux.nix.
  linux,
  pins,
  run,
}:
let
  sysroot = run {
    name = "${name}-sysroot";
    script = ./gcc-toolset.sh;
    unpack = ./rpm.sh;
    relocate = ./relocate.sh;
    toolset = name;
    inherit (linux) loader;
    rpms = pins.family name;
  };
in
{
  inherit sysroot;
  # The loader of programs that run with its libc.
  loader = "${sysroot}/${linux.loader}";
  # Programs: gcc, g++ (aimed at the sysroot) and the binutils.
  bin = run {
    inherit name sysroot;
    script = ./gcc-toolset-bin.sh;
    toolset = name;
  };
  # Where its libraries lie.
  libraries = "${sysroot}/usr/lib64";
  keepsPolicy = true;
}
