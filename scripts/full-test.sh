#!/usr/bin/env bash
# Tests that take too long for every change, after `make test`: the program as Nix builds it, checks
# and shells with a whole torch, every pin at its source, a build with little memory, a binary cache
# and a remote builder (scripts/full-tests.txt), and the oldest and newest variants of
# examples/relu.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/single-user.sh
scripts/setup.sh --full-test
scripts/emulation.sh || echo "note: this machine cannot run programs for aarch64: its tests do not run" >&2
export NIX_REMOTE=$PWD/target/nix-store
export KERNEL_BUILDER_TEST_VENV=$PWD/.venv
. scripts/program.sh
# The variants of the package indexes, for the torch that tests load.
variants=(--variant torch211-cxx11-cpu-x86_64-linux --variant torch211-cxx11-cu130-x86_64-linux)
"$program" fetch examples/relu --check "${variants[@]}"
"$program" fetch tests/fixtures/python-only --check --variant 'torch-*'
# NB: of torch 2.7, all of its CUDA: 3 GB.
shells=(torch211-cxx11-cpu torch215-cxx11-cpu torch27-cxx11-cu126)
for shell in "${shells[@]}"; do
    "$program" fetch examples/relu --shell --variant "$shell-x86_64-linux"
done
"$program" fetch --image
while read -r name; do
    cargo test --quiet -- --ignored --show-output "$name"
done <scripts/full-tests.txt

# The cache, the builder and rebuilds once more with a current Nix, which `make test` has unpacked.
export PATH=$PWD/target/nix-2.26/bin:$PATH NIX_REMOTE=$PWD/target/nix-store-2.26 NIX_CONFIG="${NIX_CONFIG-}
sandbox-paths ="
cargo test --quiet --test distribution -- --ignored --show-output --test-threads 1
cargo test --quiet --test reproducible -- --ignored --show-output examples_and_a_kernel
