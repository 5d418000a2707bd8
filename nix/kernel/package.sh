# Python files, and a library if there is one, -> $out/$variant, with _ops.py and metadata.json.
dir=$out/$variant
mkdir -p "$dir"
cp -r "$python/." "$dir"
chmod -R u+w "$dir"
[ -e "$dir/__init__.py" ] || fail "the kernel's Python package has no __init__.py"
[ ! -e "$dir/_ops.py" ] || fail "_ops.py is generated: rename the kernel's own file of that name"
[ ! -e "$dir/metadata.json" ] || fail "metadata.json is generated: rename the kernel's own file of that name"
libraryName=
if [ -n "$library" ]; then
    for file in "$library"/*; do libraryName=${file##*/}; done
    cp "$library/$libraryName" "$dir"
fi
sed -e "s/__NAMESPACE__/$namespace/g" -e "s/__OP_NAMESPACE__/$opNamespace/g" -e "s/__LIBRARY__/$libraryName/g" \
    "$ops" >"$dir/_ops.py"

# Digests of the files for metadata.json: base64 of its sha256, keyed by its path.
files=$(
    cd "$dir"
    find . -type f ! -name '*.pyc' | sed 's|^\./||' | sort | while read -r file; do
        hash=$(sha256sum "$file" | cut -d ' ' -f 1 | xxd -r -p | base64)
        name=${file//\\/\\\\}
        printf '      "%s": "%s"\n' "${name//\"/\\\"}" "$hash"
    done | sed '$!s/$/,/'
)
printf '%s\n' "${metadata/\"@files@\"/"{
$files
    }"}" >"$dir/metadata.json"
