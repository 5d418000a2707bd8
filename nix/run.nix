# The one place that calls `derivation` for a script: the seed's bash runs it with a PATH of exactly `tools` and the
# seed, no variable of the host, and every other attribute as a shell variable, array or associative array.
{ seed, system }:
{
  name,
  script,
  tools ? [ ],
  # Whether it starts programs that need /bin/sh.
  needsShell ? false,
  # Store paths that the output may refer to; null: any.
  allowedReferences ? null,
  ...
}@attrs:
let
  # There, the tools are the machine's own: nix/seed.nix.
  darwin = builtins.match ".*-darwin" system != null;
  # Store names hold fewer characters than file names do, and at most 211 of them.
  storeName = builtins.substring 0 150 (
    builtins.concatStringsSep "-" (
      builtins.filter builtins.isString (builtins.split "[^a-zA-Z0-9+._?=-]+" name)
    )
  );
in
derivation (
  builtins.removeAttrs attrs [
    "allowedReferences"
    "needsShell"
    "script"
    "tools"
  ]
  // {
    inherit system;
    name = storeName;
    __structuredAttrs = true;
    outputs = [ "out" ];
    builder = "${seed}/bin/bash";
    args = [
      (if darwin then "-e" else "-eu")
      ./run.sh
      script
    ];
    privateRoot = if needsShell then ./private-root.sh else "";
    toolPath = builtins.concatStringsSep ":" (map (tool: "${tool}/bin") (tools ++ [ seed ]));
  }
  // (if darwin then { __noChroot = true; } else { })
  // (
    if allowedReferences == null then { } else { outputChecks.out = { inherit allowedReferences; }; }
  )
)
