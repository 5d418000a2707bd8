#!/usr/bin/env bash
# Makes a virtual environment with the programs that judge and install wheels: uv, twine,
# check-wheel-contents and auditwheel, each pinned by hash. Usage: wheel-venv.sh DIR.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
dir=$1
cmp -s "$root/scripts/requirements/wheel.txt" "$dir/.complete" && exit 0
python3 -m venv --clear "$dir"
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes \
    --requirement "$root/scripts/requirements/wheel.txt"
cp "$root/scripts/requirements/wheel.txt" "$dir/.complete"
