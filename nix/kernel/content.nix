# The parts that variants with and without native code have in common: an id made of the variant's
# content, and a package of its Python files. NB: called once for each kernel, so that variants
# share its values.
{
  name,
  # The folder of the Python package, and the extensions of its files.
  python,
  # From sources.nix.
  sources,
}:
let
  pythonFiles = sources.find python.dir python.extensions;
  pythonTree = sources.tree pythonFiles;
  pythonHashes = sources.list (pythonFiles ++ [ "build.toml" ]);
  # Whether there may be native files. NB: an input that nobody needs takes Nix time.
  hasOtherFiles = builtins.any (file: builtins.match ".*[.]pyi?" file == null) pythonFiles;
in
id: rec {
  # The hashes of build.toml and of the Python files, as a file of the store.
  inherit pythonHashes;

  # The build id, which names the Python module, the library and the op namespace. It is a hash of
  # the Python files too, since they may register operators under the namespace.
  namespace = "${id.prefix}_${sources.hash id.salt (id.files ++ pythonFiles)}";
  # A name of the same length, for a library that gets the build id in its package.
  placeholder = "${id.prefix}_0000000000";

  package =
    recipe:
    {
      variant,
      # The linked library, or null.
      library,
      # The template of _ops.py.
      ops,
      metadata,
      # The namespace of the operators; null: the build id.
      opNamespace,
      # The toolchain of the variant; null for a variant of Python alone.
      toolchain,
    }:
    sources.requireCurrent (
      recipe.package {
        inherit
          library
          metadata
          name
          namespace
          ops
          variant
          ;
        opNamespace = if opNamespace == null then namespace else opNamespace;
        python = "${pythonTree}/${python.dir}";
        toolchain = if hasOtherFiles then toolchain else null;
      }
    );
}
