#!/usr/bin/env bash
# The main job, end to end: builds examples/relu for the CPU and loads it with the real client.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
# The environment is made once, for this repository only.
venv=.venv

. scripts/program.sh
"$program" build examples/relu --variant torch211-cxx11-cpu-x86_64-linux
scripts/venv.sh "$venv"
"$venv/bin/python" scripts/demo.py
