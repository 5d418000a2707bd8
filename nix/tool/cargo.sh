# How cargo is run here, for the scripts beside this one: without a network, and for a static
# program. NB: dependencies.sh and tool.sh must agree in all of it, or cargo compiles the
# dependencies again.
export CARGO_HOME=$NIX_BUILD_TOP/cargo-home CARGO_TARGET_DIR=$NIX_BUILD_TOP/target CARGO_INCREMENTAL=0
# Without a target that is named, crt-static would reach the proc macros too, which are libraries of
# rustc.
target=$(rustc -vV | sed -n 's/^host: //p')
mkdir "$CARGO_HOME"
# Paths of the store and of the build stay out of the program, also those that assertions of C
# print.
export CFLAGS="-ffile-prefix-map=$crates=/crates -ffile-prefix-map=$NIX_BUILD_TOP=/build"
cat >"$CARGO_HOME/config.toml" <<EOF
[source.crates-io]
replace-with = "pinned"
[source.pinned]
directory = "$crates"
[net]
offline = true
[target.$target]
linker = "cc"
rustflags = [
    "-Ctarget-feature=+crt-static",
    "--remap-path-prefix=$crates=/crates",
    "--remap-path-prefix=$NIX_BUILD_TOP=/build",
]
EOF
build() { cargo build --quiet --release --frozen --target "$target" -j "${NIX_BUILD_CORES:-1}"; }
