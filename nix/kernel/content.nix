# What every variant has, with native code or without: an id made of its content, and a package of its Python files.
# NB: called once for each kernel, so that variants share what is in it.
{
  name,
  # Python files: the folder and the file name extensions that belong to the package.
  python,
  # From sources.nix.
  sources,
}:
let
  pythonFiles = sources.find python.dir python.extensions;
  pythonTree = sources.tree pythonFiles;
in
id: rec {
  # The build's id: name of its Python module, its library and its op namespace. It holds the Python files too, since
  # those register things under the namespace.
  namespace = "${id.prefix}_${sources.hash id.salt (id.files ++ pythonFiles)}";

  package =
    recipe:
    {
      variant,
      # Linked library, or null.
      library,
      # Template of _ops.py.
      ops,
      metadata,
      # The namespace of its operators; null: its own.
      opNamespace,
    }:
    sources.fresh (
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
      }
    );
}
