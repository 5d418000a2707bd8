#!/usr/bin/env bash
# Installs the programs that this repository needs and this machine lacks: Nix, Python with venv, a
# C compiler, Rust. It installs on Debian 12 and its relatives; elsewhere it only prints the missing
# programs.
set -euo pipefail

# The oldest cargo that builds the tool (Cargo.toml, rust-version).
needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$(dirname "$0")/../Cargo.toml")

packages=()
command -v nix-store >/dev/null || packages+=(nix-bin)
command -v gcc >/dev/null || packages+=(gcc libc6-dev)
command -v git >/dev/null || packages+=(git)
# A Python without venv or pip cannot make the environment that loads kernels.
python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3 python3-venv)
python3 -m pip --version >/dev/null 2>&1 || packages+=(python3-pip)
rust=()
if ! have=$(cargo --version 2>/dev/null | cut -d ' ' -f 2) ||
    [ "$(printf '%s\n%s\n' "$needed" "$have" | sort -V | head -n 1)" != "$needed" ]; then
    rust=(rustc-web cargo-web)
fi
case ${1-} in
--install)
    # The daemon of Nix and its users, where systemd can start it.
    if [ -d /run/systemd/system ] && ! getent group nixbld >/dev/null; then packages+=(nix-setup-systemd); fi
    ;;
--contributor) command -v shellcheck >/dev/null || packages+=(shellcheck) ;;
--full-test)
    [ -x /usr/sbin/sshd ] || packages+=(openssh-server)
    command -v ssh >/dev/null || packages+=(openssh-client)
    [ -x /usr/sbin/debootstrap ] || packages+=(debootstrap)
    # Readers of container images, and the program that starts containers.
    for program in runc skopeo umoci; do command -v "$program" >/dev/null || packages+=("$program"); done
    ;;
esac

[ $((${#packages[@]} + ${#rust[@]})) -gt 0 ] || exit 0
if ! command -v apt-get >/dev/null; then
    echo "error: please install: ${packages[*]} ${rust[*]:+Rust $needed}" >&2
    exit 3
fi
echo "installing ${packages[*]} ${rust[*]}" >&2
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
"${as_root[@]}" apt-get update -qq
if [ ${#rust[@]} -gt 0 ] && ! apt-cache show "${rust[@]}" >/dev/null 2>&1; then
    echo "error: apt has no Rust $needed or newer: install it (rustup), then run this again" >&2
    exit 3
fi
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" "${rust[@]}" >/dev/null
