# The one place that calls `derivation` for a script: the seed's bash runs it with a PATH of exactly
# `tools` and the seed, no variable of the host, and every other attribute as a shell variable,
# array or associative array. Attributes come in two parts: what many derivations have in common,
# and what is one's own. NB: Nix computes the first once for all of them, and a large kernel has
# thousands.
{ seed, system }:
{
  # A file; of an environment, the name of one of its scripts.
  script,
  tools ? [ ],
  # Tools and scripts that thousands of derivations have in common, made by kernel/environment.nix:
  # one input of each instead of many. Null: none.
  environment ? null,
  # Whether it starts programs that need /bin/sh.
  needsShell ? false,
  # Store paths that the output may refer to; null: any.
  allowedReferences ? null,
  ...
}@attrs:
let
  # There, the tools are the machine's own: nix/seed.nix.
  darwin = builtins.match ".*-darwin" system != null;
  options = if darwin then "-e" else "-eu";
  common =
    builtins.removeAttrs attrs [
      "allowedReferences"
      "environment"
      "needsShell"
      "script"
      "tools"
    ]
    // {
      inherit system;
      __structuredAttrs = true;
    }
    // (
      if environment == null then
        {
          builder = "${seed}/bin/bash";
          args = [
            options
            "${./run.sh}"
            "${script}"
          ];
          privateRoot = if needsShell then ./private-root.sh else "";
          toolPath = builtins.concatStringsSep ":" (map (tool: "${tool}/bin") (tools ++ [ seed ]));
        }
      else
        {
          builder = "${environment}/bash";
          args = [
            options
            "${environment}/${script}"
          ];
        }
    )
    // (if darwin then { __noChroot = true; } else { })
    // (
      if allowedReferences == null then { } else { outputChecks.out = { inherit allowedReferences; }; }
    );
  # Store names hold fewer characters than file names do, and at most 211 of them.
  storeName =
    name:
    builtins.substring 0 150 (
      builtins.concatStringsSep "-" (
        builtins.filter builtins.isString (builtins.split "[^a-zA-Z0-9+._?=-]+" name)
      )
    );
in
{ name, ... }@own:
derivation (common // own // { name = storeName name; })
