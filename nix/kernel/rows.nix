# The rows of the release table that a build.nix has variants for, the best first.
# NB: what build.nix says was decided for rows as they were: a row that is gone or that means something else now is an error.
{ variants, ... }:
let
  table = import ../release-table.nix;
  cure = "run `kernel-builder generate` in the kernel's folder";
  isDeclared = row: variants.${row.profile}.${row.name} or null != null;
  known = builtins.groupBy (row: row.profile) table.rows;
  gone = builtins.concatMap (
    profile:
    let
      names = map (row: row.name) (known.${profile} or [ ]);
    in
    builtins.filter (name: !builtins.elem name names) (builtins.attrNames variants.${profile})
  ) (builtins.attrNames variants);
  fresh =
    row:
    if variants.${row.profile}.${row.name} == row.digest then
      row
    else
      throw "build.nix was made for another ${row.name} than the release table now has: ${cure}";
in
if gone != [ ] then
  throw "build.nix has ${builtins.concatStringsSep ", " gone}, which the release table does not have: ${cure}"
else
  map fresh (builtins.filter isDeclared table.rows)
