#!/usr/bin/env bash
# Measures planning, evaluation of large kernels, and builds beside CMake projects of the same
# sources (benches/).
# NB: the machine should do nothing else. BENCH=relu,60,60-cuda,400 BENCH_VARIANTS=8
# BENCH_FIRST=0 BENCH_UNITS=light|heavy|300 BENCH_ROUNDS=1: see benches/builds/main.rs.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/single-user.sh
export NIX_REMOTE=${NIX_REMOTE:-$PWD/target/nix-store}
venv=.venv-bench
[ -e "$venv/.complete" ] || {
    python3 -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r scripts/requirements/bench.txt
    touch "$venv/.complete"
}
export KERNEL_BUILDER_BENCH_TOOLS=$PWD/$venv/bin
cargo bench --quiet --bench planning
cargo bench --quiet --bench evaluation
cargo bench --quiet --bench builds
