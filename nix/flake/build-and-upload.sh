# Copies every built variant to ./build/<variant>, then uploads it with the program kernel-builder:
# the flake's own, else the one on the PATH. Arguments are those of `kernel-builder upload`.
set -eu
program=@program@
[ -n "$program" ] || program=$(command -v kernel-builder) || {
    echo "error: kernel-builder is not on the PATH: install it, then run \`kernel-builder upload\`" >&2
    exit 3
}
"@copy@/bin/build-and-copy"
exec "$program" upload "$@"
