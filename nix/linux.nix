# Names that differ between the architectures of Linux. NB: no other file has them.
{
  aarch64-linux = {
    # Debian's name of the architecture, which is also the name of a folder of libraries
    # (usr/lib/<triplet>).
    triplet = "aarch64-linux-gnu";
    # The path of the dynamic loader that programs name, without the leading slash.
    loader = "lib/ld-linux-aarch64.so.1";
    # The name of the architecture in container images.
    image = "arm64";
  };
  x86_64-linux = {
    triplet = "x86_64-linux-gnu";
    loader = "lib64/ld-linux-x86-64.so.2";
    image = "amd64";
  };
}
