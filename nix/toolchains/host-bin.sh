# gcc, g++ and the binutils of the sysroot, under their short names.
mkdir -p "$out/bin"
cd "$out/bin"
for program in gcc g++ cpp; do
    printf '#!%s\nexec %s/usr/bin/%s-12 --sysroot=%s "$@"\n' "$builder" "$sysroot" "$program" "$sysroot" >"$program"
    chmod 755 "$program"
done
for tool in ar as c++filt ld nm objcopy objdump ranlib readelf strip; do
    ln -s "$sysroot/usr/bin/$triplet-$tool" "$tool"
done
