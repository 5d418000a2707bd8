#!/usr/bin/env bash
# Makes a virtual environment that loads built kernels: torch, the real `kernels` client, pytest.
# Usage: venv.sh DIR [TORCH]. Where there is no GPU, small stub libraries stand in for 1.7 GB of
# NVIDIA's.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
dir=$1 torch=$root/scripts/requirements/torch-${2:-2.11.0}
[ ! -e "$dir/.complete" ] || exit 0

python3 -m venv --clear "$dir"
pip=("$dir/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes)
"${pip[@]}" -r "$root/scripts/requirements/client.txt" -r "$torch.txt"

libraries=$(ldconfig -p 2>/dev/null || true)
if [[ $libraries == *libcuda.so.1* ]]; then
    "${pip[@]}" -r "$torch-gpu.txt"
else
    "$dir/bin/python" "$root/nix/python/cuda_runtime_stubs.py" >/dev/null
fi
touch "$dir/.complete"
