# The rows of the release table that a build.nix has variants for, the best first.
# NB: build.nix was generated for the rows of that time. A row that is gone, or that has another
# digest now, is an error.
{ variants, ... }:
let
  table = import ../release-table.nix;
  cure = "run `kernel-builder generate` in the kernel's folder";
  isDeclared = row: variants.${row.profile}.${row.name} or null != null;
  rowsByProfile = builtins.groupBy (row: row.profile) table.rows;
  missingNames = builtins.concatMap (
    profile:
    let
      names = map (row: row.name) (rowsByProfile.${profile} or [ ]);
    in
    builtins.filter (name: !builtins.elem name names) (builtins.attrNames variants.${profile})
  ) (builtins.attrNames variants);
  requireSameDigest =
    row:
    if variants.${row.profile}.${row.name} == row.digest then
      row
    else
      throw "build.nix was made for another ${row.name} than the release table now has: ${cure}";
in
if missingNames != [ ] then
  throw "build.nix has ${builtins.concatStringsSep ", " missingNames}, which the release table does not have: ${cure}"
else
  map requireSameDigest (builtins.filter isDeclared table.rows)
