# Wheels -> $out/site, and programs that are no Python scripts -> $out/bin.
mkdir -p "$out/site" "$out/bin"
cd "$out/site"
python3 "$unpackWheels" "${wheels[@]}"
for data in *.data; do
    [ -e "$data" ] || continue
    for part in purelib platlib; do [ ! -e "$data/$part" ] || cp -r "$data/$part/." .; done
    [ ! -e "$data/scripts" ] || mv "$data/scripts"/* "$out/bin"
    rm -rf "$data"
done

# Programs of wheels expect the system's loader, and wheels do not record who may be executed.
for program in "$out"/bin/* */data/bin/*; do
    [ -e "$program" ] || continue
    chmod 755 "$program"
    interpreter=$(patchelf --print-interpreter "$program" 2>/dev/null) || fail "not a program: $program"
    [ -z "$interpreter" ] || patchelf --set-interpreter "$loader" \
        --force-rpath --set-rpath "$libraries" "$program"
    case $program in "$out"/*) ;; *) ln -s "$out/site/$program" "$out/bin" ;; esac
done

# Python files are compiled here, since nobody can write it beside the files later.
python3 "$compilePackages"
