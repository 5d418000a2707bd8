# Sourced by package.sh: gives the library $dir/$libraryName the build id $namespace in place of the
# name that it was linked with. A link with that name gives the same library, except for the order
# of its symbols.
# shellcheck source=/dev/null
. "$library/name-places"
[ ${#namespace} = ${#linked_name} ] || fail "$namespace and $linked_name differ in length"
write_at() { printf '%b' "$2" | dd of="$dir/$libraryName" bs=1 seek="$1" conv=notrunc status=none; }
write_number_at() {
    local bytes
    printf -v bytes '\\x%02x' $(($2 & 255)) $(($2 >> 8 & 255)) $(($2 >> 16 & 255)) $(($2 >> 24))
    write_at "$1" "$bytes"
}

symbol=PyInit_$namespace
write_at "$namespace_at" "$namespace"
write_at "$symbol_at" "$symbol"

# The hash of a name, as the ELF specification defines it.
hash=0
for ((at = 0; at < ${#symbol}; at++)); do
    printf -v code %d "'${symbol:at:1}"
    hash=$(((hash << 4) + code & 0xFFFFFFFF))
    high=$((hash & 0xF0000000))
    hash=$(((hash ^ high >> 24) & ~high))
done

# The symbol leaves its bucket, and becomes the first one of another.
write_number_at "$place_at" "$next"
bucket_at=$((buckets_at + 4 * (hash % buckets)))
read -r first < <(od -A n -t u4 -j "$bucket_at" -N 4 "$dir/$libraryName")
write_number_at $((nexts_at + 4 * number)) "$first"
write_number_at "$bucket_at" "$number"
