# Debian packages -> $out, one tree with merged /usr whose programs run from there.
mkdir -p "$out/usr/lib" "$out/usr/lib64" "$out/usr/bin" "$out/usr/sbin"
cd "$out"
# The merged-usr links exist before anything is unpacked, so that each package lands in the right
# place.
for dir in lib lib64 bin sbin; do ln -s "usr/$dir" "$dir"; done
for deb in "${debs[@]}"; do dpkg-deb -x "$deb" .; done
rm -rf usr/share etc var

# Links of packages are absolute; here they must stay inside the tree.
find . -type l | while read -r link; do
    target=$(readlink "$link")
    case $target in /*) ln -sfn "$out$target" "$link" ;; esac
done

find usr/bin usr/lib/gcc -type f -perm -0100 | while read -r file; do
    # Static programs, scripts and objects have no interpreter.
    interpreter=$(patchelf --print-interpreter "$file" 2>/dev/null) || continue
    [ -n "$interpreter" ] || continue
    patchelf --set-interpreter "$out/$loader" --force-rpath --set-rpath "$out/usr/lib/$triplet" "$file"
done
