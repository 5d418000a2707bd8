# The objects of a variant -> its extension library, checked: no symbol is missing, and it keeps the
# manylinux policy that it promises.
{
  # From ../abi.
  abi,
  manylinux,
  run,
}:
{
  name,
  # The name of the variant, which says what the library may need when it is loaded.
  variant,
  toolchain,
  # The file name of the library.
  library,
  # Store paths in link order. An `@` before a path marks a response file.
  objects,
  # The op namespace. The link defines it for units that leave it open.
  namespace,
  # Whether package.nix writes another namespace of the same length into the library.
  isNamedLater ? false,
  # The header whose REGISTER_EXTENSION makes the library a Python module if no object does; null if
  # the library is no Python module.
  registration,
  # Compiled Metal shaders that the library embeds.
  shaders,
  # "g++", "icpx" or "apple-clang++"
  driver,
  # Flags before and libraries after the objects.
  flags,
  libraries,
  # CUDA architectures that the library must hold device code for, and whether it may hold more.
  archs,
  moreArchs,
  # Whether some objects were compiled for OpenMP.
  openmp,
  # The newest version of each symbol family that the library may need, e.g. { GLIBC = "2.28"; }.
  policy,
}:
let
  present = builtins.filter (tool: tool != null);
in
run (
  abi.arguments { inherit toolchain variant; }
  // {
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
      variant
      ;
    script = if driver == "apple-clang++" then ./link-macos.sh else ./link.sh;
    namespaceScript = ./namespace.sh;
    placesScript = if isNamedLater then ./name-places.sh else "";
    openmpScript = if openmp then ./openmp.sh else "";
    # The list of functions that an OpenMP runtime has. The library is not linked with it.
    libgomp = if openmp then "${toolchain.host.libraries}/libgomp.so.1" else "";
    archsScript = if archs == [ ] then "" else ./archs.sh;
    moreArchs = if moreArchs then "yes" else "";
    registration = if registration == null then "" else registration;
    python = if toolchain.python == null then [ ] else toolchain.python.include;
    metal = if shaders == [ ] then "" else ./metal.sh;
    tools = present [
      toolchain.host.bin
      abi.interpreter
      (if driver == "icpx" then toolchain.oneapi.bin else null)
    ];
    # C and C++ libraries that keep the policy, if those of the host compiler do not.
    platform =
      if toolchain.host.keepsPolicy then
        ""
      else
        manylinux {
          # The libraries have no OpenMP.
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
  }
)
