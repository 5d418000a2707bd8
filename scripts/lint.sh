#!/usr/bin/env bash
# Style and static checks of every language here. Nix files are checked by tests/repository.rs.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh --contributor

cargo fmt --check
cargo clippy --quiet --all-targets -- -D warnings
git ls-files '*.sh' .ci/run | xargs shellcheck
python3 scripts/comments.py --check

venv=.venv-lint
[ -e "$venv/.complete" ] || {
    python3 -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r scripts/requirements/lint.txt
    touch "$venv/.complete"
}
"$venv/bin/ruff" check --quiet .
"$venv/bin/ruff" format --quiet --check .
