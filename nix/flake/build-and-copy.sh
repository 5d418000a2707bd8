# Copies every built variant to ./build/<variant>. Replaces variants that a build made, never
# anything else.
set -eu
PATH=@seed@/bin
for variant in @bundle@/*; do
    target=build/${variant##*/}
    if [ -e "$target" ] && [ ! -e "$target/metadata.json" ]; then
        echo "error: $target is not a built variant (it has no metadata.json): move it away first" >&2
        exit 1
    fi
done
mkdir -p build
for variant in @bundle@/*; do
    target=build/${variant##*/}
    rm -rf "$target.new"
    cp -r "$variant" "$target.new"
    chmod -R u+w "$target.new"
    rm -rf "$target"
    mv "$target.new" "$target"
    echo "$target"
done
