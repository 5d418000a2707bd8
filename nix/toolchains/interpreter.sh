# Debian's python3.X-minimal, its standard library and its libc -> $out, with $out/bin/python3.
# shellcheck source=nix/toolchains/relocate.sh
. "$relocate"
mkdir -p "$out/usr/lib" "$out/usr/lib64" "$out/usr/bin"
for dir in lib lib64 bin; do ln -s "usr/$dir" "$out/$dir"; done
for deb in "${debs[@]}"; do dpkg-deb -x "$deb" "$out"; done
(cd "$out" && rm -rf usr/share etc var)
relink "$out"
set -- "$out"/usr/lib/*-linux-gnu
relocate "$out/usr/bin" "$out/$loader" "$1"
set -- "$out"/usr/bin/python3.*
ln -s "${1##*/}" "$out/usr/bin/python3"
