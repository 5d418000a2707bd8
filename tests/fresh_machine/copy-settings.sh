#!/usr/bin/env bash
# Copies this machine's own settings of apt, pip, cargo, certificates and names of hosts to a root
# file system of Debian 12. Its /machine/environment sets the variables among them. Usage:
# copy-settings.sh ROOT
set -euo pipefail
root=$1

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
