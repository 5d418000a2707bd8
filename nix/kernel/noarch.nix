# The variants of a kernel of Python files alone: a function from a backend's variant to its package. Every system builds the
# same bytes, so it belongs to none.
{
  # From frameworks.nix.
  framework,
  # From resolve.nix and content.nix, for the kernel.
  resolved,
  content,
}:
given:
let
  plan = resolved.python given;
  own = content (plan.id // { files = [ ]; });
in
{
  inherit plan;
  buildId = own.namespace;
  inherit (plan) bundle variant;
  inherit (given) backend;
  # The derivation, as a system builds it: with the seed of that system, and nothing else.
  packageOn =
    system:
    own.package (import ../recipes.nix).${system} {
      library = null;
      opNamespace = null;
      inherit (plan) metadata variant;
      inherit (framework) ops;
    };
}
