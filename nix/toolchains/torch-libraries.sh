# A torch wheel -> $out, some of its libraries.
members=()
for name in "${names[@]}"; do members+=("torch/lib/lib$name.so"); done
unzip -q "$wheel" "${members[@]}" -d tree
mv tree/torch/lib "$out"
for name in "${names[@]}"; do [ -e "$out/lib$name.so" ] || fail "no lib$name.so in $wheel"; done
