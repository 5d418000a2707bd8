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
    { tail -n 20 "$root.log" >&2 && exit 1; }
rm -r "$root/etc/apt"
cp -aT /etc/apt "$root/etc/apt"
# NB: settings of programs that a fresh machine lacks.
rm -f "$root"/etc/apt/apt.conf.d/{20packagekit,50appstream}

# Certificates, one a file, as an administrator adds them.
certs=$root/usr/local/share/ca-certificates
mkdir -p "$certs"
awk -v dir="$certs" '/BEGIN CERTIFICATE/ { n++ } n { print >(dir "/" n ".crt") }' "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}"
chroot "$root" update-ca-certificates >/dev/null 2>&1

# Settings: variables that name files get copies of them, since packages replace files in /etc.
mkdir "$root/machine"
for name in $(compgen -e); do
    case $name in
    CARGO_HOME | CARGO_TARGET_DIR | CARGO_MANIFEST_* | CARGO_PKG_* | CARGO_BIN_* | CARGO_CRATE_*) continue ;;
    CARGO_* | PIP_* | *_proxy | *_PROXY | *CERT* | *CA_BUNDLE*) ;;
    *) continue ;;
    esac
    value=${!name}
    if [ -f "$value" ]; then
        cp "$value" "$root/machine/$name"
        value=/machine/$name
    fi
    printf 'export %s=%q\n' "$name" "$value" >>"$root/machine/environment"
done
touch "$root/machine/environment"
for file in /etc/pip.conf ~/.config/pip/pip.conf ~/.pip/pip.conf "${CARGO_HOME:-$HOME/.cargo}/config.toml"; do
    if [ -e "$file" ]; then install -D "$file" "$root${file/#"$HOME"//etc/skel}"; fi
done
cp -aT "$root/etc/skel" "$root/root"

cp /etc/resolv.conf /etc/hosts "$root/etc/"
if [ $# -gt 0 ]; then
    "$(dirname "$0")/enter-root.sh" "$root" root \
        "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $* >/dev/null"
fi
