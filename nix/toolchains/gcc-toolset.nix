# The host compiler of the vendor profile: AlmaLinux's gcc-toolset, and the glibc 2.28 and libstdc++
# of that system, which are those that manylinux_2_28 promises. So its libraries keep the policy
# without manylinux.nix.
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
  # The loader of programs that run with the sysroot's libc.
  loader = "${sysroot}/${linux.loader}";
  # The programs gcc and g++, which use the sysroot, and the binutils.
  bin = run {
    inherit name sysroot;
    script = ./gcc-toolset-bin.sh;
    toolset = name;
  };
  # The folder of the sysroot's libraries.
  libraries = "${sysroot}/usr/lib64";
  keepsPolicy = true;
}
