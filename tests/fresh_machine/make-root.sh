#!/usr/bin/env bash
# Makes the root file system of a fresh Debian 12 in a new folder, with git and make, and with this
# machine's own settings of apt, pip, cargo and certificates. Usage: make-root.sh DIR [PACKAGE]...
set -euo pipefail
root=$1
shift

# The first source of this machine that serves Debian 12's main archive.
# shellcheck disable=SC2016 # apt-get expands them
uri=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' |
    awk '$2 == "bookworm" && !found { print $1; found = 1 }')
[ -n "$uri" ] || {
    echo "error: apt's sources do not hold Debian 12" >&2
    exit 3
}
debootstrap --variant=minbase --include=ca-certificates,git,make bookworm "$root" "$uri" >"$root.log" ||
    { tail -n 20 "$root.log" >&2; exit 1; }
"$(dirname "$0")/copy-settings.sh" "$root"
if [ $# -gt 0 ]; then
    "$(dirname "$0")/enter-root.sh" "$root" root \
        "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $* >/dev/null"
fi
