# The parts of a CUDA unit -> $out, the object that the compiler makes of the whole unit; or that
# very object, where the parts do not fit together.

# Why the parts cannot be used, a line for each reason.
misfits() {
    local at part name
    for at in "${!devices[@]}"; do
        part=${devices[at]}
        # nvcc names the internal symbols of a unit after an id, which may differ where a unit looks
        # at __CUDA_ARCH__.
        if [ "$driver" = nvcc ] && ! cmp -s "$part/module_id" "$host/module_id"; then
            printf 'sm_%s has the module id %s, the host %s\n' "${archs[at]}" "$(<"$part/module_id")" "$(<"$host/module_id")"
        fi
        # The host registers a kernel by its name in device code. 10 is nvcc's mark of an entry
        # point.
        readelf --syms --wide "$part/cubin" 2>/dev/null | awk '/<other>: 10/ && $4 == "FUNC" { print $NF }' >kernels
        while read -r name; do
            printf 'the host code does not know %s of sm_%s\n' "$name" "${archs[at]}"
        done < <(awk 'NR == FNR { known[$0]; next } !($0 in known)' names kernels)
    done
    local lists=("$host/arch_list" "${devices[@]/%//arch_list}")
    sort -u "${lists[@]}" | sed 's/$/ looks at __CUDA_ARCH_LIST__/'
}

# A symbol that host code refers to and does not define is no kernel that it knows.
nm -u "$host/object" | awk '{ print $NF }' >undefined
strings -n 2 "$host/object" | awk 'FILENAME == "undefined" { missing[$0]; next } !($0 in missing)' undefined - >names
misfits >reasons
if [ -s reasons ]; then
    # NB: `kernel-builder build` shows lines that begin like this.
    printf 'kernel-builder: note: %s is compiled whole, since its parts do not fit together: %s\n' "$source" "$(head -n 1 reasons)"
    sed 1d reasons
    # shellcheck source=nix/kernel/compile.sh
    . "$compileScript"
else
    images=()
    for at in "${!devices[@]}"; do
        elf="--image3=kind=elf,sm=${archs[at]},file=${devices[at]}/cubin"
        intermediate="--image3=kind=ptx,sm=${archs[at]},file=${devices[at]}/ptx"
        # In each compiler's own order.
        [ -z "${ptx[at]}" ] || [ "$driver" = clang ] || images+=("$intermediate")
        images+=("$elf")
        [ -z "${ptx[at]}" ] || [ "$driver" = nvcc ] || images+=("$intermediate")
    done
    "$cuda/bin/fatbinary" -64 --create fatbin "${fatbinary[@]}" "${images[@]}"
    objcopy --update-section .nv_fatbin=fatbin "$host/object" "$out"
fi
