# Names that differ between the architectures of Linux. NB: the one place that has them.
{
  aarch64-linux = {
    # Debian's name of the architecture, of which it has a folder of libraries (usr/lib/<triplet>).
    triplet = "aarch64-linux-gnu";
    # The dynamic loader that programs name, below the root of their system.
    loader = "lib/ld-linux-aarch64.so.1";
  };
  x86_64-linux = {
    triplet = "x86_64-linux-gnu";
    loader = "lib64/ld-linux-x86-64.so.2";
  };
}
