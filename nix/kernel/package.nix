# The kernel's Python files, and its library if it has one, -> $out/<variant>, laid out as
# `kernels.get_kernel` loads it.
{ run }:
{
  # Kernel and variant.
  name,
  variant,
  # The id of the build.
  namespace,
  # The namespace of its operators: that id, unless its author chose another.
  opNamespace,
  # A folder that holds the linked library, or null.
  library,
  # Template of _ops.py.
  ops,
  # Python files as a tree.
  python,
  # The fixed part of metadata.json.
  metadata,
}:
run {
  name = "${name}-${variant}";
  script = ./package.sh;
  inherit
    variant
    namespace
    opNamespace
    ops
    python
    ;
  library = if library == null then "" else library;
  metadata = import ../pretty-json.nix (
    metadata
    // {
      id = namespace;
      provenance.kernel-builder.version = import ../version.nix;
      # Replaced by package.sh, which sees the files.
      digest = {
        algorithm = "sha256";
        files = "@files@";
      };
    }
  );
  # A kernel goes to machines without Nix.
  allowedReferences = [ ];
}
