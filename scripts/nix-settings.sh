#!/usr/bin/env bash
# Prints the lines that Nix's configuration lacks for the `nix` commands of README.md; none if it
# has them. kernel-builder itself needs none of them.
set -euo pipefail
settings=$(nix --extra-experimental-features nix-command show-config)
value() { sed -n "s/^$1 = *//p" <<<"$settings"; }
# NB: nix-command is among these features because of the option above.
features=" $(value experimental-features) "
if [[ $features != *' flakes '* ]] || ! nix show-config >/dev/null 2>&1; then
    echo 'extra-experimental-features = nix-command flakes'
fi
# Debian turns the sandbox off for its daemon.
[ "$(value sandbox)" != false ] || echo "sandbox = true"
# Root builds as the users of a group. A container with only Debian's nix-bin has no such group.
group=$(value build-users-group)
if [ "$(id -u)" = 0 ] && [ -n "$group" ] && ! getent group "$group" >/dev/null; then
    echo 'build-users-group ='
fi
