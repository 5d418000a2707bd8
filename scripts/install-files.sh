#!/usr/bin/env bash
# Installs the program, its manual pages and its completions below $DESTDIR$PREFIX, by default
# /usr/local; with `uninstall`, removes them. $PROGRAM is the program; without it, cargo builds one.
# `build2cmake` is its name of 2025, in tutorials; a program of that name stays.
set -euo pipefail
cd "$(dirname "$0")/.."
base=${DESTDIR-}${PREFIX:-/usr/local}
older=$base/bin/build2cmake
manuals=$base/share/man/man1
declare -A completions=(
    [bash]=$base/share/bash-completion/completions/kernel-builder
    [fish]=$base/share/fish/vendor_completions.d/kernel-builder.fish
    [zsh]=$base/share/zsh/site-functions/_kernel-builder
)

if [ "${1-}" = uninstall ]; then
    rm -f "$base/bin/kernel-builder" "$manuals"/kernel-builder.1 "$manuals"/kernel-builder-*.1 "${completions[@]}"
    [ "$(readlink "$older")" != kernel-builder ] || rm "$older"
    echo "removed kernel-builder from $base"
    exit
fi

program=${PROGRAM-}
if [ -z "$program" ]; then . scripts/program.sh --release; fi
# Pages of an earlier program may have other names.
rm -f "$manuals"/kernel-builder.1 "$manuals"/kernel-builder-*.1
install -d "$manuals"
install -D -m 755 "$program" "$base/bin/kernel-builder"
[ -e "$older" ] || ln -s kernel-builder "$older"
"$program" man "$manuals"
for shell in "${!completions[@]}"; do
    install -d "$(dirname "${completions[$shell]}")"
    "$program" completions "$shell" >"${completions[$shell]}"
done
echo "installed kernel-builder, its manual pages and completions in $base"
