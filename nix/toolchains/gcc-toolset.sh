# RPM packages of AlmaLinux -> $out, one tree with merged /usr whose programs run from there.
# shellcheck source=nix/toolchains/rpm.sh
. "$unpack"
# shellcheck source=nix/toolchains/relocate.sh
. "$relocate"
mkdir -p "$out/usr/lib" "$out/usr/lib64" "$out/usr/bin" "$out/usr/sbin"
# The merged-usr links exist before anything is unpacked, so that each package lands in the right
# place.
for dir in lib lib64 bin sbin; do ln -s "usr/$dir" "$out/$dir"; done
for rpm in "${rpms[@]}"; do unpack_rpm "$rpm" "$out"; done
(cd "$out" && rm -rf usr/share/{doc,man,info,locale,licenses} usr/lib/.build-id etc var)
relink "$out"

programs=$out/opt/rh/$toolset/root/usr
[ -x "$programs/bin/gcc" ] || fail "no gcc in the packages of $toolset"
# A scriptlet of the package would make this link.
[ -e "$programs/bin/ld" ] || ln -sfn ld.bfd "$programs/bin/ld"
relocate "$programs" "$out/usr/$loader" "$out/usr/lib64:$programs/lib64"
