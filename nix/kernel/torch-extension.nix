# One variant of a torch extension, as build.nix describes it -> its derivations. Everything is decided in build.nix;
# this only connects.
{
  # Name of the kernel, and the folder that every path below is relative to.
  name,
  root,
  # sha256 (hex) of the build.toml that build.nix was generated from.
  manifest,
}:
let
  sources = import ./sources.nix { inherit root; };
  recipes = import ../recipes.nix;
  fresh = builtins.hashFile "sha256" (root + "/build.toml") == manifest;
in
{
  variant,
  # Where it is built.
  system,
  # Whether it is built when nothing is asked for.
  bundle,
  # Names of its toolchains (nix/recipes.nix).
  toolchain,
  # Prefix of its ids, a hash of what build.toml says of its native code, and the files of that code.
  id,
  # Groups of translation units that see the same headers.
  components,
  link,
  # Python files: the folder and the file name extensions that belong to the package.
  python,
  # The fixed part of metadata.json.
  metadata,
}:
let
  recipe = recipes { inherit system; };
  tools = recipe.toolchain toolchain;

  # The build's id: name of its Python module, its library and its op namespace. It holds the Python files too, since
  # those register things under the namespace.
  namespace = "${id.prefix}_${sources.hash id.salt (id.files ++ pythonFiles)}";
  pythonFiles = sources.find python.dir python.extensions;

  compile =
    component: headers: group: source:
    recipe.compile {
      name = "${name}-${source}.o";
      toolchain = tools;
      inherit (group) driver flags;
      inherit (component) include;
      inherit source headers;
      file = sources.file source;
      registration = group.namespace;
      namespace = if group.namespace == "compiled" then namespace else null;
    };
  objects = builtins.concatMap (
    component:
    let
      headers = sources.tree component.headers;
    in
    builtins.concatMap (group: map (compile component headers group) group.sources) component.units
  ) components;

  library = recipe.link {
    name = "${name}-${variant}-library";
    toolchain = tools;
    library = "${namespace}.abi3.so";
    inherit namespace objects;
    inherit (link) flags libraries policy;
  };
in
{
  inherit
    bundle
    library
    name
    objects
    system
    variant
    ;
  # Evaluating names of variants touches none of the above.
  package =
    if fresh then
      recipe.package {
        inherit
          library
          metadata
          name
          namespace
          variant
          ;
        python = "${sources.tree pythonFiles}/${python.dir}";
      }
    else
      throw "build.nix is older than build.toml: run `kernel-builder generate` in the kernel's folder";
}
