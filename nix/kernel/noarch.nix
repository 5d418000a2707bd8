# The variants of Python files alone: a function from the name and the backend of a variant to its
# package. Such a variant has no system, since every system builds the same bytes.
{
  # From frameworks.nix.
  framework,
  # From resolve.nix and content.nix, for the kernel.
  resolved,
  content,
}:
{ variant, backend }:
let
  planned = resolved.python { inherit backend variant; };
  plan = planned // {
    id = planned.id // {
      files = [ ];
    };
  };
  contentOfVariant = content plan.id;
in
{
  inherit plan;
  buildId = contentOfVariant.namespace;
  inherit (plan) bundle variant;
  inherit backend;
  archives = { };
  sources = [ contentOfVariant.pythonHashes ];
  # The derivation that a system builds. Its only tool is the seed of that system.
  packageOn =
    system:
    contentOfVariant.package (import ../recipes.nix).${system} {
      library = null;
      opNamespace = null;
      toolchain = null;
      inherit (plan) metadata variant;
      inherit (framework) ops;
    };
}
