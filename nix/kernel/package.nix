# The kernel's Python files, and its library if it has one, -> $out/<variant>, laid out as
# `kernels.get_kernel` loads it.
{
  # From ../abi.
  abi,
  run,
  # The Python that checks the files and writes metadata.json; null: the one of the machine.
  interpreter,
}:
{
  # The names of the kernel and of the variant.
  name,
  variant,
  # The build id.
  namespace,
  # The namespace of the operators: the build id, unless the kernel's author chose another.
  opNamespace,
  # A folder that holds the linked library, or null.
  library,
  # The template of _ops.py.
  ops,
  # The folder of the Python files.
  python,
  # The toolchain of the variant, if native files may lie among the Python files, else null.
  toolchain,
  # The fixed part of metadata.json.
  metadata,
}:
run (
  (if toolchain == null then { abi = ""; } else abi.arguments { inherit toolchain variant; })
  // {
    name = "${name}-${variant}";
    script = ./package.sh;
    nativeScript = ../abi/native-files.sh;
    nameScript = if library == null then "" else ./name-library.sh;
    inherit
      variant
      namespace
      opNamespace
      ops
      python
      ;
    library = if library == null then "" else library;
    metadataScript = ./metadata.py;
    # metadata.py adds the digests of the files.
    metadata = metadata // {
      id = namespace;
      provenance.kernel-builder.version = import ../version.nix;
    };
    tools = builtins.filter (tool: tool != null) [
      interpreter
      (if toolchain == null then null else toolchain.host.bin)
    ];
    # Packing takes less time than asking or reaching another machine.
    preferLocalBuild = true;
    # A kernel goes to machines without Nix.
    allowedReferences = [ ];
  }
)
