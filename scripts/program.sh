# shellcheck shell=bash
# To be sourced in the root of this repository: builds the program, with the options of cargo that
# are given, and sets `program` to its path. cargo says where that is, since the user's
# configuration may have another target folder (CARGO_TARGET_DIR).
# shellcheck disable=SC2034 # for the script that sources this
program=$(cargo build --quiet --bin kernel-builder --message-format json-render-diagnostics "$@" |
    python3 -c '
import json, sys
paths = (json.loads(line).get("executable") for line in sys.stdin)
print(*filter(None, paths), sep="\n")')
