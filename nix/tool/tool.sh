# Our sources, on top of compiled dependencies -> $out/bin/kernel-builder.
# shellcheck source=nix/tool/cargo.sh
. "$cargo"
cp -r "$sources" source
chmod -R u+w source
cp -r "$dependencies" "$CARGO_TARGET_DIR"
chmod -R u+w "$CARGO_TARGET_DIR"
# NB: all as old as in the store: cargo compiles again what looks newer than its result.
find "$CARGO_TARGET_DIR" -exec touch -d @1 {} +
cd source
cp "$manifest" Cargo.toml
build
mkdir -p "$out/bin"
cp "$CARGO_TARGET_DIR/$target/release/kernel-builder" "$out/bin"
