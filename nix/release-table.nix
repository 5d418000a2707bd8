# The rows of the release table. release-table.json holds them; kernel-builder makes that file of
# src/matrix/toolchains.toml, so that Rust is the only one who derives names and flags from a release.
let
  table = builtins.fromJSON (builtins.readFile ./release-table.json);
in
{
  # Names of backends, those first whose variants are better than the others'.
  inherit (table) backends;

  # Sets of compilers, by a name that tells what they are. Rows that differ only in the release of
  # their framework share one. Each has `system`, `os`, `backend`, `compute`, `deviceCompiler`,
  # `toolchain`, `drivers`, `link` and the C++ `standard` of units that need no framework.
  inherit (table) compilers;

  # How a driver is told to compile for a GPU architecture, by driver and architecture.
  inherit (table) architectures;

  # One row for each torch or tvm-ffi release, compute and system of a profile, the best first. A row
  # has what its compilers have, and the names of its framework's toolchains.
  rows = map (
    row:
    let
      compilers = table.compilers.${row.compilers};
    in
    compilers // row // { toolchain = compilers.toolchain // row.toolchain; }
  ) table.rows;
}
