# What every variant has, with native code or without: an id made of its content, and a package of its Python files.
{
  # Name of the kernel, and the folder that every path is relative to.
  name,
  root,
  # sha256 (hex) of the build.toml that build.nix was generated from.
  manifest,
}:
{ id, python }:
let
  sources = import ./sources.nix { inherit root; };
  fresh = builtins.hashFile "sha256" (root + "/build.toml") == manifest;
  pythonFiles = sources.find python.dir python.extensions;
in
rec {
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
    }:
    if fresh then
      recipe.package {
        inherit
          library
          metadata
          name
          namespace
          ops
          variant
          ;
        python = "${sources.tree pythonFiles}/${python.dir}";
      }
    else
      throw "build.nix is older than build.toml: run `kernel-builder generate` in the kernel's folder";
}
