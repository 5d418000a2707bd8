# .crate files -> $out, a folder that cargo takes instead of an index.
mkdir "$out"
cd "$out"
for index in "${!archives[@]}"; do
    tar -xzf "${archives[index]}"
    name=${archives[index]#"$NIX_STORE"/*-}
    printf '{"files":{},"package":"%s"}' "${checksums[index]}" >"${name%.crate}/.cargo-checksum.json"
done
