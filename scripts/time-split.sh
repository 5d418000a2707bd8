#!/usr/bin/env bash
# Prints the time of a CUDA unit that is compiled whole and in parts, for three architectures: wall
# and CPU seconds, as Nix builds it with two jobs. A small unit (internal), one with CUB (cub), and
# one with torch's headers (torch), or those that are named. Not a test; docs/measurements has the
# numbers.
set -euo pipefail
cd "$(dirname "$0")/.."
export NIX_REMOTE=${NIX_REMOTE-$PWD/target/nix-store}
variant=torch211-cxx11-cu130-x86_64-linux
declare -A place=([cub]=0 [internal]=1 [torch]=2)
[ $# -gt 0 ] || set -- internal cub torch
. scripts/program.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp -r tests/fixtures/split/. "$dir"
cp tests/fixtures/device/csrc/device.cu "$dir/csrc/cub.cu"
printf '#include <torch/all.h>\n' | cat - "$dir/csrc/internal.cu" >"$dir/csrc/torch.cu"
# NB: another comment in each run, so that everything is compiled.
for unit in internal cub torch; do printf '// %s\n' "$(date +%s.%N)" >>"$dir/csrc/$unit.cu"; done
sed -i -e '/^  "csrc/d' -e 's|^src = \[$|&"csrc/cub.cu", "csrc/internal.cu", "csrc/torch.cu", "csrc/split.h"|' \
    -e 's|^cuda-capabilities.*|cuda-capabilities = ["8.0", "9.0", "10.0"]|' "$dir/build.toml"
"$program" generate "$dir"
"$program" fetch "$dir" --variant "$variant"
expression="(import $PWD/tests/fixtures/split/derivations.nix { build = $dir/build.nix; variant = \"$variant\"; }).objects"
derivation() {
    nix-instantiate --eval --strict --read-write-mode --expr "(builtins.elemAt ($expression) $1).$2" | tr -d '"'
}
TIMEFORMAT='%R s, %U s of CPU'
for unit in "$@"; do
    at=${place[$unit]}
    for how in whole object; do
        what=$(derivation "$at" "$how")
        # Its inputs are built first.
        mapfile -t needed < <(nix-store --query --references "$what" | grep '\.drv$' | grep -v -- "-split-csrc-")
        nix-store --realise --option substituters '' "${needed[@]}" >"$dir/log" 2>&1
        printf '%s, %s: ' "$unit" "${how/object/in parts}"
        time nix-store --realise --max-jobs 2 --cores 1 --option sandbox true --option substituters '' "$what" >"$dir/log" 2>&1
        grep 'whole, since' "$dir/log" || true
    done
done
