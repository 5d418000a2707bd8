#!/usr/bin/env bash
# Makes a virtual environment with the programs that own the facts of nix/abi, each pinned by hash:
# auditwheel and abi3audit, and linkers for tests. Usage: abi-venv.sh DIR.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
dir=$1
cmp -s "$root/scripts/abi-requirements.txt" "$dir/.complete" && exit 0
python3 -m venv --clear "$dir"
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes \
    --requirement "$root/scripts/abi-requirements.txt"
cp "$root/scripts/abi-requirements.txt" "$dir/.complete"
