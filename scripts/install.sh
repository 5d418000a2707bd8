#!/usr/bin/env bash
# Installs kernel-builder from this clone on Debian 12 or a relative of it, or in a container: the
# packages that are missing (Nix, Python, a C compiler, Rust), the program with its manual pages and
# completions, and the lines that Nix's configuration lacks. It asks nothing, says what it does, and
# may be run again. It uses sudo unless you are root. Usage: install.sh [PREFIX] (/usr/local).
set -euo pipefail
cd "$(dirname "$0")/.."
prefix=${1:-/usr/local}
say() { printf '==> %s\n' "$*" >&2; }
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)

scripts/setup.sh --install
say 'compiling kernel-builder, which takes some minutes'
. scripts/program.sh --release --locked
say "installing it in $prefix"
"${as_root[@]}" env PREFIX="$prefix" PROGRAM="$program" scripts/install-files.sh >&2

lines=$(scripts/nix-settings.sh)
if [ -n "$lines" ]; then
    say "adding to /etc/nix/nix.conf: ${lines//$'\n'/; }"
    "${as_root[@]}" mkdir -p /etc/nix
    "${as_root[@]}" tee -a /etc/nix/nix.conf <<<"$lines" >/dev/null
    if systemctl --quiet is-active nix-daemon 2>/dev/null; then "${as_root[@]}" systemctl restart nix-daemon; fi
fi

# Debian lets the members of a group talk to Nix's daemon.
check=("$prefix/bin/kernel-builder" doctor)
if [ "$(id -u)" != 0 ] && getent group nix-users >/dev/null && ! id -nG | grep -qw nix-users; then
    say "adding $USER to the group nix-users; log in again before you use Nix"
    sudo usermod -aG nix-users "$USER"
    check=(sg nix-users -c "${check[*]}")
fi
say 'checking this machine: kernel-builder doctor'
exec "${check[@]}"
