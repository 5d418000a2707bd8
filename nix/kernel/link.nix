# The objects of a variant -> its extension library, checked against the manylinux policy it promises.
{ run }:
{
  name,
  toolchain,
  # File name of the library.
  library,
  # Store paths, in link order.
  objects,
  # The op namespace, defined here for units that leave it to the link.
  namespace,
  # Flags before and libraries after the objects.
  flags,
  libraries,
  # The newest version of each symbol family that the library may need, e.g. { GLIBC = "2.28"; }.
  policy,
}:
run {
  inherit
    name
    library
    namespace
    objects
    flags
    libraries
    policy
    ;
  script = ./link.sh;
  compat = ./glibc-compat.c;
  tools = [ toolchain.host.bin ];
  search = [
    toolchain.torch.cpuLibraries
  ]
  ++ (
    if toolchain.cuda == null then
      [ ]
    else
      [
        toolchain.torch.cudaLibraries
        "${toolchain.cuda.toolkit}/lib64"
      ]
  );
}
