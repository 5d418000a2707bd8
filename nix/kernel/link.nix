# The objects of a variant -> its extension library, checked: no symbol is missing, and it keeps the
# manylinux policy that it promises.
{ manylinux, run }:
{
  name,
  toolchain,
  # File name of the library.
  library,
  # Store paths, in link order; `@` and one: a response file.
  objects,
  # The op namespace, defined here for units that leave it to the link.
  namespace,
  # The header whose REGISTER_EXTENSION makes the library a Python module where no object does;
  # null: it is none.
  registration,
  # Compiled Metal shaders, to be embedded.
  shaders,
  # "g++", "icpx" or "apple-clang++"
  driver,
  # Flags before and libraries after the objects.
  flags,
  libraries,
  # CUDA architectures that it must hold device code for, and whether it may hold more.
  archs,
  moreArchs,
  # Whether objects were compiled for OpenMP.
  openmp,
  # The newest version of each symbol family that the library may need, e.g. { GLIBC = "2.28"; }.
  policy,
}:
let
  present = builtins.filter (tool: tool != null);
in
run {
  inherit
    name
    archs
    library
    namespace
    objects
    flags
    libraries
    policy
    driver
    shaders
    ;
  script = if driver == "apple-clang++" then ./link-macos.sh else ./link.sh;
  namespaceScript = ./namespace.sh;
  openmpScript = if openmp then ./openmp.sh else "";
  # The functions of an OpenMP runtime; it is not linked.
  libgomp = if openmp then "${toolchain.host.libraries}/libgomp.so.1" else "";
  archsScript = if archs == [ ] then "" else ./archs.sh;
  moreArchs = if moreArchs then "yes" else "";
  registration = if registration == null then "" else registration;
  python = if toolchain.python == null then [ ] else toolchain.python.include;
  metal = if shaders == [ ] then "" else ./metal.sh;
  tools = present [
    toolchain.host.bin
    (if driver == "icpx" then toolchain.oneapi.bin else null)
  ];
  # C and C++ libraries that keep the policy, where the host compiler's own do not.
  platform =
    if toolchain.host.keepsPolicy then
      ""
    else
      manylinux {
        # It has no OpenMP.
        policy = builtins.removeAttrs policy [
          "GOMP"
          "OMP"
        ];
        inherit (toolchain) host;
      };
  search =
    toolchain.framework.libraries
    ++ builtins.concatMap (tool: tool.libraries) (present [
      toolchain.cuda
      toolchain.rocm
      toolchain.oneapi
    ]);
  expectedSymbols = toolchain.framework.symbols;
}
