# A linked library and the kernel's Python files -> $out/<variant>, laid out as `kernels.get_kernel` loads it.
{ run }:
{
  # Kernel and variant.
  name,
  variant,
  # The id of the build, which is also the op namespace of its library.
  namespace,
  library,
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
    library
    python
    ;
  ops = ../../templates/torch/_ops.py;
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
