#!/usr/bin/env bash
# Unpacks the source distribution of the `kernels` client, with its tests. Its release and its hash
# are those that venv.sh installs. Usage: client-tests.sh DIR, with the virtual environment of tests
# in KERNEL_BUILDER_TEST_VENV.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
dir=$(realpath -m "$1")
[ ! -e "$dir/.complete" ] || exit 0
rm -rf "$dir"
mkdir -p "$dir/backend"

# NB: pip asks a source distribution for its name, by a program of any release. This one stands in
# for it.
cat >"$dir/backend/maturin.py" <<'END'
import pathlib

def prepare_metadata_for_build_wheel(folder, settings=None):
    info = pathlib.Path(folder, "kernels.dist-info")
    info.mkdir()
    version = next(line[9:] for line in open("PKG-INFO") if line.startswith("Version: "))
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: kernels\nVersion: {version}")
    return info.name
END
awk '/^[^ #]/ { is_client = /^kernels==/ } is_client' "$root/scripts/requirements/client.txt" >"$dir/requirement.txt"
PYTHONPATH=$dir/backend "$KERNEL_BUILDER_TEST_VENV/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps \
    --no-build-isolation --no-binary kernels --require-hashes -r "$dir/requirement.txt" -d "$dir"
tar -xzf "$dir"/kernels-*.tar.gz -C "$dir" --strip-components 1
touch "$dir/.complete"
