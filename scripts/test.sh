#!/usr/bin/env bash
# Every test: style, Rust, and real builds of both variants of examples/relu, of which the CPU one
# is loaded and run.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/lint.sh

. scripts/single-user.sh

# NB: a store of the repository's own: tests never touch the machine's.
export NIX_REMOTE=$PWD/target/nix-store
export KERNEL_BUILDER_TEST_VENV=$PWD/.venv
. scripts/program.sh
# The variants of the package indexes, for the torch that tests load.
variants=(--variant torch211-cxx11-cpu-x86_64-linux --variant torch211-cxx11-cu130-x86_64-linux)
"$program" fetch examples/relu "${variants[@]}"
scripts/venv.sh "$KERNEL_BUILDER_TEST_VENV"
# `make fuzz` is for the first two that are skipped, `make full-test` for those of
# scripts/full-tests.txt.
skip=(--skip for_minutes --skip time_by_size)
while read -r name; do skip+=(--skip "$name"); done <scripts/full-tests.txt
cargo test --quiet -- --include-ignored "${skip[@]}"

# The real builds once more with a current Nix, whose store has another schema. Debian's names a
# /bin/sh for the sandbox that this machine need not have.
scripts/newer-nix.sh target/nix-2.26
export PATH=$PWD/target/nix-2.26/bin:$PATH NIX_REMOTE=$PWD/target/nix-store-2.26 NIX_CONFIG="${NIX_CONFIG-}
sandbox-paths ="
"$program" fetch examples/relu "${variants[@]}"
# `make full-test` compares rebuilds with this Nix.
skip+=(--skip a_rebuild_gives_the_same_bytes)
cargo test --quiet --test end_to_end --test foreign_flakes --test provenance -- --include-ignored "${skip[@]}"
