# Debian packages -> $out, the layer of the userland.
# shellcheck source=nix/image/chroot.sh
. "$chroot"
for deb in "${debs[@]}"; do
    folder=packages/${deb##*/}
    mkdir -p "$folder"
    for part in control data; do ar p "$deb" "$part.tar.xz" | unxz >"$folder/$part.tar"; done
done
python3 "$program" unpack packages root
cp "$configure" root/configure.sh
in_root root /bin/sh -eu /configure.sh
rm root/configure.sh

# The machine has Nix's store, and a folder for the kernel, whose owner is often another user.
mkdir -p root/nix/store root/etc/nix root/kernel
cp "$nixConf" root/etc/nix/nix.conf
printf '[safe]\n\tdirectory = /kernel\n' >root/etc/gitconfig
chmod 644 root/etc/nix/nix.conf
python3 "$program" layer "$out" "Debian with Nix, git, pip and apt" root:
