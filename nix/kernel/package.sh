# Python files, and a library if there is one, -> $out/$variant, with _ops.py and metadata.json.
dir=$out/$variant
mkdir -p "$dir"
cp -r "$python/." "$dir"
libraryName=
if [ -n "$library" ]; then
    for linked in "$library"/*.*; do :; done
    extension=${linked##*/}
    libraryName=$namespace.${extension#*.}
    cp "$linked" "$dir/$libraryName"
fi
chmod -R u+w "$dir"
[ -e "$dir/__init__.py" ] || fail "the kernel's Python package has no __init__.py"
[ ! -e "$dir/_ops.py" ] || fail "_ops.py is generated: rename the kernel's own file of that name"
if [ -n "$library" ] && [ -e "$library/name-places" ]; then
    # shellcheck source=nix/kernel/name-library.sh
    . "$nameScript"
fi
sed -e "s/__NAMESPACE__/$namespace/g" -e "s/__OP_NAMESPACE__/$opNamespace/g" -e "s/__LIBRARY__/$libraryName/g" \
    "$ops" >"$dir/_ops.py"
# shellcheck source=nix/abi/native-files.sh
. "$nativeScript"
python3 -I -B -W ignore -X utf8 "$metadataScript" "$dir" "$NIX_BUILD_TOP/.attrs.json"
