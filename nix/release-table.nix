# The rows of the release table. release-table.json holds them; kernel-builder makes that file of
# src/matrix/toolchains.toml, so that only Rust derives names and flags from a release.
let
  table = builtins.fromJSON (builtins.readFile ./release-table.json);
in
{
  # Names of backends, the best first.
  inherit (table) backends;

  # Sets of compilers by name. Rows that differ only in the release of their framework share one
  # set. Each has `system`, `os`, `backend`, `compute`, `deviceCompiler`, `toolchain`, `drivers`,
  # `link` and the C++ `standard` of units that need no framework.
  inherit (table) compilers;

  # The flags for a GPU architecture, by driver and architecture.
  inherit (table) architectures;

  # One row for each torch or tvm-ffi release, compute and system of a profile, the best first. A
  # row has the attributes of its compilers too; its `toolchain` also names its framework's
  # families.
  rows = map (
    row:
    let
      compilers = table.compilers.${row.compilers};
    in
    compilers // row // { toolchain = compilers.toolchain // row.toolchain; }
  ) table.rows;
}
