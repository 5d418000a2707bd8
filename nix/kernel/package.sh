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
[ ! -e "$dir/metadata.json" ] || fail "metadata.json is generated: rename the kernel's own file of that name"
if [ -n "$library" ] && [ -e "$library/name-places" ]; then
    # shellcheck source=nix/kernel/name-library.sh
    . "$nameScript"
fi
sed -e "s/__NAMESPACE__/$namespace/g" -e "s/__OP_NAMESPACE__/$opNamespace/g" -e "s/__LIBRARY__/$libraryName/g" \
    "$ops" >"$dir/_ops.py"

# The base64 of a hash that is written in 64 hex digits -> $base64. Three digits are two letters.
alphabet=ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/
to_base64() {
    local at bits
    base64=
    for ((at = 0; at < 63; at += 3)); do
        bits=$((16#${1:at:3}))
        base64+=${alphabet:bits >> 6:1}${alphabet:bits & 63:1}
    done
    bits=$((16#${1:63:1} << 2))
    base64+=${alphabet:bits:1}=
}

# Digests of the files for metadata.json, by path.
names=()
while IFS= read -r -d '' name; do
    [[ $name != *[[:cntrl:]]* ]] || fail "a file of the package has control characters in its name: $(printf %q "$name")"
    names+=("$name")
done < <(cd "$dir" && find . -type f ! -name '*.pyc' -print0 | sort -z)
(cd "$dir" && printf '%s\0' "${names[@]}" | xargs -0 sha256sum) >hashes
files=
while IFS= read -r line; do
    name=${line#*  ./}
    to_base64 "${line:0:64}"
    name=${name//\\/\\\\}
    files+=${files:+,$'\n'}"      \"${name//\"/\\\"}\": \"$base64\""
done <hashes
printf '%s\n' "${metadata/\"@files@\"/"{
$files
    }"}" >"$dir/metadata.json"
