# clang from Debian packages, as the compiler of CUDA toolkits that no package index has an nvcc of.
# It has the headers and libraries of the host compiler, which also compiles everything else of a
# variant: one libstdc++ for all.
{
  name,
  host,
  pins,
  run,
}:
{
  # Programs: clang++.
  bin = run {
    inherit name;
    script = ./clang.sh;
    inherit (host) loader sysroot triplet;
    debs = pins.family name;
  };
}
