# One variant of Python files alone, as build.nix describes it. Every system builds the same bytes, so it belongs to none.
framework:
kernel@{ name, python, ... }:
let
  sources = import ./sources.nix kernel;
  content = import ./content.nix { inherit name python sources; };
in
{
  variant,
  # Whether it is built when nothing is asked for.
  bundle,
  # Prefix of its ids, a hash of what build.toml says of its native code (nothing), and the files of that code (none).
  id,
  # The fixed part of metadata.json.
  metadata,
}:
{
  inherit bundle variant;
  backend = metadata.backend.type;
  # The derivation, as a system builds it: with the seed of that system, and nothing else.
  packageOn =
    system:
    (content id).package (import ../recipes.nix).${system} {
      library = null;
      opNamespace = null;
      inherit metadata variant;
      inherit (framework) ops;
    };
}
