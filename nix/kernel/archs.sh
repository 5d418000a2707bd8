# Sourced by link.sh: fails unless $library holds device code for what $archs asks for, and for
# nothing else. Compilers drop code without a word. src/artifact/fatbin.rs describes the layout of
# fatbins; tests/cuda.rs reads libraries that passed here with it.
objcopy -O binary --only-section=.nv_fatbin "$out/$library" fatbins

# The first 48 bytes of a header, as numbers of 4 bytes -> $header.
header_at() {
    read -r -d '' -a header < <(od -A n -v -t u4 -j "$1" -N 48 fatbins) || true
    [ "${#header[@]}" = 12 ] || fail "device code of $library ends in a header"
}

# Each image: `9.0a`, or `9.0a PTX`.
images() {
    local at=0 size end kind arch suffix
    size=$(stat -c %s fatbins)
    while [ $((at + 48)) -le "$size" ]; do
        header_at $at
        if [ "${header[0]}" = 0 ]; then
            # A linker aligns the fatbins of several objects.
            at=$((at + 8))
            continue
        fi
        [ "${header[0]}" = $((0xBA55ED50)) ] || fail "device code of $library is in no fatbin at byte $at"
        end=$((at + (header[1] >> 16) + header[2] + (header[3] << 32)))
        at=$((at + (header[1] >> 16)))
        while [ $at -lt $end ]; do
            header_at $at
            case $((header[0] & 0xFFFF)) in
            1) kind=' PTX' ;;
            2) kind= ;;
            *) fail "device code of $library is of an unknown kind at byte $at" ;;
            esac
            case $((header[10] >> 20 & 3)) in
            0) suffix= ;;
            2) suffix=f ;;
            *) suffix=a ;;
            esac
            arch=${header[7]}
            printf '%d.%d%s%s\n' $((arch / 10)) $((arch % 10)) "$suffix" "$kind"
            at=$((at + header[1] + header[2] + (header[3] << 32)))
        done
        at=$(((end + 7) / 8 * 8))
    done
}

images | sort -u >found
for arch in "${archs[@]}"; do
    printf '%s\n' "${arch%+PTX}"
    case $arch in *+PTX) printf '%s PTX\n' "${arch%+PTX}" ;; esac
done >asked
grep -v -x -F -f found asked | sed 's/.*/missing: &/' >differences || true
# Flags of build.toml may ask for more.
[ -n "$moreArchs" ] || grep -v -x -F -f asked found | sed 's/.*/not asked for: &/' >>differences || true
if [ -s differences ]; then
    cat differences >&2
    fail "$library does not hold the device code that build.toml asks for"
fi
