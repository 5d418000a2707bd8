# The start of every script of nix/: the derivation's attributes become shell variables, and the
# environment is one in which the same inputs give the same bytes, with Nix's sandbox or without it.
# NB: Nix 2.8 sets NIX_ATTRS_SH_FILE to a path outside of the sandbox; the file always lies where
# the build starts.
if [ "${BASH_VERSINFO[0]}" -ge 4 ]; then
    # shellcheck source=/dev/null
    . ./.attrs.sh
    out=${outputs[out]}
else
    # NB: macOS's bash knows no associative arrays. No script that runs there reads one.
    /usr/bin/sed '/^declare -A /d' .attrs.sh >attrs.sh
    # shellcheck source=/dev/null
    . ./attrs.sh
    out=$(/usr/bin/sed -n "s/^declare -A outputs=(\['out'\]='\([^']*\)' *)$/\1/p" .attrs.sh)
fi
set -o pipefail
# NB: macOS's bash lacks it. Without it, errors in $(…) do not end a script.
shopt -s inherit_errexit 2>/dev/null || true
umask 022
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
