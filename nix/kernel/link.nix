# The objects of a variant -> its extension library, checked: nothing is missing, and it keeps the manylinux policy that it
# promises.
{ manylinux, run }:
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
  tools = [ toolchain.host.bin ];
  # C and C++ libraries that keep the policy.
  platform = manylinux {
    inherit policy;
    inherit (toolchain) host;
  };
  search =
    toolchain.framework.libraries
    ++ (if toolchain.cuda == null then [ ] else [ "${toolchain.cuda.toolkit}/lib64" ]);
  expectedSymbols = toolchain.framework.symbols;
}
