#!/usr/bin/env bash
# Brings lld and mold to a folder, for tests: Debian's packages of apt's lists, unpacked and not
# installed. Usage: abi-linkers.sh DIR; then DIR/usr/bin has ld.lld and ld.mold.
set -euo pipefail
dir=$1
[ ! -e "$dir/.complete" ] || exit 0
rm -rf "$dir"
mkdir -p "$dir/archives"
dir=$(cd "$dir" && pwd)
cd "$dir/archives"
apt-cache show lld >/dev/null 2>&1 || apt-get update -qq
lld=$(apt-cache depends lld | sed -n 's/^ *Depends: \(lld-[0-9]*\)$/\1/p' | head -n 1)
packages=(lld "$lld" mold)
# The libraries that they need and this machine lacks.
for package in "$lld" mold; do
    for needed in $(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
        --no-enhances "$package" | grep '^lib'); do
        dpkg-query --show "$needed" >/dev/null 2>&1 || packages+=("$needed")
    done
done
apt-get download --quiet "${packages[@]}"
for archive in *.deb; do dpkg-deb --extract "$archive" "$dir"; done
rm -r "$dir/archives"
touch "$dir/.complete"
