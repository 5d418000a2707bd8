# Copies every built variant to ./build/<variant>. Replaces variants that a build made, never
# anything else. NB: src/build/install.rs does the same for `kernel-builder build`.
set -eu
PATH=@seed@/bin
fail() {
    echo "error: $1: move it away first" >&2
    exit 1
}
for variant in @bundle@/*; do
    target=build/${variant##*/}
    [ -e "$target" ] || continue
    digests=$target/metadata.json
    [ -e "$digests" ] || fail "$target is not a built variant (it has no metadata.json)"
    # A build without digests does not say which files it has.
    grep -q '"digest"' "$digests" || continue
    find "$target" ! -type d ! -name '*.pyc' ! -path '*/__pycache__/*' ! -path "$digests*" -print0 |
        while read -r -d '' file; do
            grep -qF "\"${file#"$target"/}\":" "$digests" || fail "no build made $file"
        done
done
# Whether a signed build ($2) is the new one ($1), if the revision is not looked at. It stays then:
# its signature would be lost, and what it says is still true.
stays() {
    [ -e "$2/metadata.json.sigstore" ] || [ -e "$2.minisig" ] || return 1
    local drop='/^ *"commit": /d; /^ *"dirty": /d; /^ *"provenance.intoto.json": /d'
    find "$1" -type f -print0 | while read -r -d '' file; do
        own=$2/${file#"$1"/}
        case $own in
        "$2/provenance.intoto.json") [ -e "$own" ] ;;
        "$2/metadata.json") [ "$(sed "$drop" "$file")" = "$(sed "$drop" "$own")" ] ;;
        *) cmp -s "$file" "$own" ;;
        esac || exit 1
    done
}
mkdir -p build
# NB: `kernel-builder build` removes folders of this name that a killed run leaves.
staging=$(mktemp -d build/.kernel-builder-XXXXXX)
trap 'rm -rf "$staging"' EXIT
for variant in @bundle@/*; do
    target=build/${variant##*/}
    if stays "$variant" "$target"; then
        echo "$target is signed and stays as it is"
        continue
    fi
    [ ! -e "$target/metadata.json.sigstore" ] && [ ! -e "$target.minisig" ] ||
        echo "note: $target was signed: sign the new build" >&2
    cp -r "$variant" "$staging/new"
    chmod -R u+w "$staging/new"
    # NB: as in nix/kernel/bundle.sh.
    find "$staging/new" -name __pycache__ -prune -exec rm -r {} +
    [ ! -e "$target" ] || mv "$target" "$staging/old"
    mv "$staging/new" "$target"
    rm -rf "$staging/old"
    echo "$target"
done
