# clang from Debian packages, the compiler of CUDA toolkits whose nvcc no package index has. It has
# the headers and libraries of the host compiler, so that all units of a variant use one libstdc++.
{
  name,
  host,
  pins,
  run,
}:
{
  # The program clang++.
  bin = run {
    inherit name;
    script = ./clang.sh;
    inherit (host) loader sysroot triplet;
    debs = pins.family name;
  };
}
