# The one place that calls `derivation` for a script: the seed's bash runs it with a PATH of exactly
# `tools` and the seed, no variable of the host, and every other attribute as a shell variable,
# array or associative array. Attributes come in two arguments: those that many derivations have in
# common, then those of one derivation. NB: Nix evaluates the first argument once for all
# derivations, of which a large kernel has thousands.
{ seed, system }:
{
  # A file, or with an environment the name of one of its scripts.
  script,
  tools ? [ ],
  # Tools and scripts that many derivations have in common, from kernel/environment.nix, or null. A
  # derivation then has one input for all of them.
  environment ? null,
  # Whether the script starts programs that need /bin/sh.
  needsShell ? false,
  # Store paths that the output may refer to; null: any.
  allowedReferences ? null,
  ...
}@attrs:
let
  # NB: on macOS the tools are those of the machine (nix/seed.nix), which a sandbox hides.
  isDarwin = builtins.match ".*-darwin" system != null;
  options = if isDarwin then "-e" else "-eu";
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
    // (if isDarwin then { __noChroot = true; } else { })
    // (
      if allowedReferences == null then { } else { outputChecks.out = { inherit allowedReferences; }; }
    );
  # A name that the store takes: at most 211 characters, and fewer kinds of them than file names
  # have.
  storeName =
    name:
    builtins.substring 0 150 (
      builtins.concatStringsSep "-" (
        builtins.filter builtins.isString (builtins.split "[^a-zA-Z0-9+._?=-]+" name)
      )
    );
in
{ name, ... }@ownAttrs:
derivation (common // ownAttrs // { name = storeName name; })
