# gcc, g++ and the binutils of the sysroot, under their short names.
mkdir -p "$out/bin"
cd "$out/bin"
programs=$sysroot/opt/rh/$toolset/root/usr/bin
for program in gcc g++ cpp; do
    printf '#!%s\nexec %s/%s --sysroot=%s "$@"\n' "$builder" "$programs" "$program" "$sysroot" >"$program"
    chmod 755 "$program"
done
for tool in ar as ld nm objcopy objdump ranlib readelf strip; do ln -s "$programs/$tool" "$tool"; done
