# What every script of nix/ starts with: the derivation's attributes as shell variables, and an environment in which
# the same inputs give the same bytes, with Nix's sandbox or without it.
# NB: Nix 2.8 sets NIX_ATTRS_SH_FILE to a path outside of the sandbox; the file always lies where the build starts.
# shellcheck source=/dev/null
. ./.attrs.sh
set -o pipefail
umask 022
out=${outputs[out]}
export PATH=$toolPath LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=1 HOME=/homeless-shelter
unset toolPath

if [ -n "$privateRoot" ] && [ -z "${BASH_PROGRAM-}" ]; then
    export BASH_PROGRAM=$builder
    exec unshare -U -r -m "$builder" -eu "$privateRoot" "$0" "$1"
fi

# Ends the build with one line that says what is wrong.
fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# shellcheck source=/dev/null
. "$1"
