# Sourced by link.sh: the places in $out/$library that depend on its name -> $out/name-places,
# variables for name-library.sh. The op namespace is a section of its own. The name of the module's
# function is a string of the dynamic symbols, and decides where the symbol is in their hash table.
symbol=PyInit_$namespace
declare -A offsets sizes
while read -r section _ _ offset size _; do
    offsets[$section]=$((16#$offset)) sizes[$section]=$((16#$size))
done < <(readelf --sections --wide "$out/$library" | sed -n 's/^ *\[ *[0-9]*\] \./\./p')
for section in .kernel_builder .dynsym .dynstr .hash; do
    [ -n "${offsets[$section]-}" ] || fail "$library has no section $section"
done
[ -z "${offsets[.gnu.hash]-}" ] || fail "$library has a second hash table of its symbols"

# Numbers of 4 bytes, and text.
numbers_at() { od -A n -v -t u4 -j "$1" -N "$2" "$out/$library"; }
text_at() { dd if="$out/$library" bs=1 skip="$1" count="$2" status=none; }

# NB: strings may share their ends.
number=$(readelf --dyn-syms --wide "$out/$library" | awk -v symbol="$symbol" '
    $1 ~ /^[0-9]+:$/ && NF >= 8 && substr(symbol, length(symbol) - length($8) + 1) == $8 { print $1 $8 }')
[ "${number#*:}" = "$symbol" ] || fail "$library should have one symbol that is named like $symbol, not ${number:-none}"
number=${number%%:*}
read -r in_strings < <(numbers_at $((offsets[.dynsym] + 24 * number)) 4)

# The table has the numbers of buckets and of symbols, then the first symbol of each bucket, then
# for each symbol the next one of its bucket.
read -r buckets place next < <(numbers_at "${offsets[.hash]}" "${sizes[.hash]}" | awk -v number="$number" '
    { for (column = 1; column <= NF; column++) words[count++] = $column }
    END {
        for (word = 2; word < count; word++)
            if (words[word] == number) print words[0], word, words[2 + words[0] + number]
    }')

# shellcheck disable=SC2034 # for name-library.sh
linked_name=$namespace
namespace_at=${offsets[.kernel_builder]}
symbol_at=$((offsets[.dynstr] + in_strings))
buckets_at=$((offsets[.hash] + 8))
nexts_at=$((buckets_at + 4 * buckets))
place_at=$((offsets[.hash] + 4 * place))
[ "$(text_at "$namespace_at" ${#namespace})" = "$namespace" ] || fail "$library does not hold its namespace"
[ "$(text_at "$symbol_at" ${#symbol})" = "$symbol" ] || fail "$library does not hold the name of its module"
declare -p linked_name namespace_at symbol_at number buckets buckets_at nexts_at place_at next >"$out/name-places"
