# build-and-copy.sh with its paths filled in -> $out/bin/build-and-copy.
mkdir -p "$out/bin"
{
    printf '#!%s/bin/bash\n' "$seed"
    sed -e "s|@seed@|$seed|g" -e "s|@bundle@|$bundle|g" "$program"
} >"$out/bin/build-and-copy"
chmod 755 "$out/bin/build-and-copy"
