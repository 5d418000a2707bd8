# Cargo.toml and Cargo.lock -> $out, cargo's target folder with everything compiled but our own
# crate.
# shellcheck source=nix/tool/cargo.sh
. "$cargo"
mkdir -p source/src
cd source
cp "$manifest" Cargo.toml
cp "$lock" Cargo.lock
for program in src/main.rs build.rs; do echo 'fn main() {}' >"$program"; done
: >src/lib.rs
build
# NB: no file of the empty crate may stay: cargo would take it for the real one, whose files are not
# newer.
cd "$CARGO_TARGET_DIR"
find . \( -name 'kernel-builder*' -o -name 'kernel_builder*' -o -name 'libkernel_builder*' \) -prune -exec rm -rf {} +
# The order of its entries differs from run to run.
rm .rustc_info.json
# NB: with their times: cargo compiles again what looks newer than its result.
cp -a . "$out"
