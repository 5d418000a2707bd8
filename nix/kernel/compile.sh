# One source file -> $out, an object file; or, if $part is not "whole", a part of one for join.sh.
mkdir work
[ -z "$headerTree" ] || { cp -r "$headerTree/." work && chmod -R u+w work; }
cd work
# NB: this runs for every unit: what bash can do by itself takes no process.
folder() { [ -d "$1" ] || mkdir -p "$1"; }
place() {
    local path=./$2
    folder "${path%/*}"
    cp "$1" "$path"
}
place "$file" "./$source"
[ -n "$headerTree" ] || [ -z "$headers" ] || while read -r _ stored path; do place "$stored" "$path"; done <"$headers"
# shellcheck source=nix/kernel/includes.sh
. "$includesScript"

command=()
folders=()
our_header=
if [ -n "$registration" ]; then
    # The header stands where authors' bindings look for it: beside them, unless they brought their
    # own.
    [ -e torch-ext/registration.h ] || {
        mkdir -p torch-ext && cp "$registration" torch-ext/registration.h
        our_header=./torch-ext/registration.h
    }
fi
if [ -n "$define" ]; then
    command+=("-D$define")
elif [ -n "$registration" ]; then
    command+=(-DKERNEL_BUILDER_NAMESPACE_LINKED)
fi
# A name with `..` needs the folder that it begins at.
for dir in "${include[@]}"; do folder "$dir" && folders+=("-I$dir"); done
# NB: the source is named by its relative path, so that __FILE__ is the same wherever the build
# runs.
unit=./$source
case $driver:$source in
hip:*.cu) unit=./$(python3 "$hipify" "$torchHipify" "$source" "${include[@]}") ;;
esac

# Runs a compiler and says how much memory it took, for `kernel-builder build` to learn from.
measured() {
    local peak page
    if ! command time -o ../time -f '%M %Z' "$@"; then
        # The compiler has said what is wrong. What `time` writes says more only of one that was
        # killed.
        sed -n '/signal/p' ../time >&2
        exit 1
    fi
    read -r peak page <../time
    # NB: the kernel counts in kB, and busybox takes the number for pages.
    printf 'kernel-builder: peak memory in kB: %d\n' $((peak * 1024 / page))
}

# gcc collects its garbage later, which saves a tenth of the time of a unit with headers of torch,
# takes 150 MB of memory, and gives the same object.
late_collection=--param=ggc-min-heapsize=524288

# Compiles the unit to $out. Arguments: flags that come before its other folders of headers.
compile_unit() {
    local search=("${folders[@]}" "$@") dir prefix
    # Shaders see no C++.
    [ "$driver" = metal ] || for dir in "${system_include[@]}"; do search+=(-isystem "$dir"); done
    case $driver in
    gcc | g++ | icx | icpx)
        for prefix in "${prefixes[@]}"; do command+=("-ffile-prefix-map=$prefix=/toolchain"); done
        case $driver in gcc | g++) command+=("$late_collection") ;; esac
        measured "$driver" "${command[@]}" "${search[@]}" "${flags[@]}" -o "$out" -c "$unit"
        ;;
    nvcc)
        for prefix in "${prefixes[@]}"; do command+=(-Xcompiler "-ffile-prefix-map=$prefix=/toolchain"); done
        command+=(-Xcompiler "$late_collection")
        # --keep gives temporary files names that do not hold the process id, --frandom-seed a fixed
        # module id.
        mkdir ../keep
        # nvcc splits the flags that it passes on at commas.
        [ "$part" = whole ] || [ -z "$archList" ] ||
            command+=(-Xcompiler -U__CUDA_ARCH_LIST__ -Xcompiler "-D__CUDA_ARCH_LIST__=${archList//,/\\,}")
        nvcc=("$cuda/bin/nvcc" -ccbin "$(command -v g++)" --keep --keep-dir ../keep --frandom-seed="$source"
            "${command[@]}" "${search[@]}" "${flags[@]}")
        case $part in
        whole) measured "${nvcc[@]}" -o "$out" -c "$unit" ;;
        sm_*)
            mkdir "$out"
            measured "${nvcc[@]}" -o "$out/cubin" -cubin "$unit"
            ;;
        host*)
            # The device code of one architecture is kept beside the object that holds it.
            mkdir "$out"
            measured "${nvcc[@]}" -o "$out/object" -c "$unit"
            cp ../keep/*.cubin "$out/cubin"
            ;;
        esac
        if [ "$part" != whole ]; then
            cp ../keep/*.ptx "$out/ptx"
            cp ../keep/*.module_id "$out/module_id"
            awk -F'"' '/^# / && $2 !~ /^</ { print $2 }' ../keep/*.ii >../headers
        fi
        ;;
    clang)
        for prefix in "${prefixes[@]}"; do command+=("-ffile-prefix-map=$prefix=/toolchain"); done
        # Without an id, clang makes one of its arguments.
        clang=(clang++ --cuda-path="$cuda" -ffile-compilation-dir=. -cuid="$(printf %s "$source" | sha256sum | cut -c 1-16)"
            "${command[@]}" "${search[@]}" "${flags[@]}")
        if [ "$part" != whole ]; then
            # Some flags are for the other parts.
            clang+=(-Wno-unused-command-line-argument -MD -MF ../dependencies)
            # Not every release defines it.
            printf '#ifdef __CUDA_ARCH_LIST__\n#undef __CUDA_ARCH_LIST__\n#define __CUDA_ARCH_LIST__ %s\n#endif\n' \
                "$archList" >../arch_list.h
            [ -z "$archList" ] || clang+=(-include ../arch_list.h)
        fi
        case $part in
        whole) measured "${clang[@]}" -o "$out" -c "$unit" ;;
        sm_*)
            mkdir "$out"
            { printf '#!%s\n' "$builder" && cat "$ptxas"; } >../ptxas
            chmod 755 ../ptxas
            export KEPT_PTX="$out/ptx" PTXAS="$cuda/bin/ptxas"
            measured "${clang[@]}" --cuda-device-only --no-gpu-bundle-output --ptxas-path="$PWD/../ptxas" -o "$out/cubin" -c "$unit"
            ;;
        host)
            # Something stands for the device code, so that there is a place for it.
            printf 'fatbinary' >../fatbinary
            mkdir "$out"
            measured "${clang[@]}" --cuda-host-only -Xclang -fcuda-include-gpubinary -Xclang ../fatbinary -o "$out/object" -c "$unit"
            ;;
        esac
        [ "$part" = whole ] || sed 's/[\\ ]\+/\n/g' ../dependencies >../headers
        ;;
    hip)
        for prefix in "${prefixes[@]}"; do command+=("-ffile-prefix-map=$prefix=/toolchain"); done
        # Without an id, clang makes one of the paths that this build has.
        measured clang++ -cuid="$(printf %s "${unit#./}" | sha256sum | cut -c 1-16)" -ffile-compilation-dir=. \
            "${command[@]}" "${search[@]}" "${flags[@]}" -o "$out" -x hip -c "$unit"
        ;;
    apple-clang | apple-clang++)
        for prefix in "${prefixes[@]}"; do command+=("-ffile-prefix-map=$prefix=/toolchain"); done
        search+=(-isystem "$(xcode-select --print-path)/Library/Frameworks/Python3.framework/Headers")
        if [ -n "$metallibHeader" ]; then
            mkdir -p ../generated
            cp "$metallibHeader" ../generated/kernel_builder_metallib.h
            search+=(-I../generated)
        fi
        xcrun --sdk macosx "${driver#apple-}" "${command[@]}" "${search[@]}" "${flags[@]}" -o "$out" -c "$unit"
        ;;
    metal)
        # shellcheck source=nix/kernel/metal.sh
        . "$metal"
        "$metal_bin/metal" "${search[@]}" "${flags[@]}" -o "$out" -c "$unit"
        ;;
    *) fail "no recipe for the driver $driver" ;;
    esac
}

# Compiles the unit with torch's own headers. Argument: the reason. NB: `kernel-builder build` shows
# lines that begin like this at once, and so an author's mistake before it is tried again.
compile_fully() {
    printf "kernel-builder: note: %s is compiled with torch's own headers: %s\n" "$source" "$1"
    compile_unit
}

# The words of `time`, gcc, cc1plus, clang and nvcc for a process that was killed or got no memory.
no_memory='by signal 9|Killed signal terminated|out of memory allocating|virtual memory exhausted|command: Killed|due to signal 9'

# Whether torch's headers may be lean: `none` if the unit includes none, `lean`, or `full` and why
# not.
headers_of_torch=none
if [ -n "$lean" ]; then
    mapfile -t texts < <(
        find . -type f ! -path "$our_header"
        [ ${#libraries[@]} -eq 0 ] || grep -rlE '#[ \t]*include[ \t]*[<"](ATen|c10|torch)/' "${libraries[@]}"
    )
    # A flag may define a macro, and so add names to the text of the unit.
    printf '%s\n' "${command[@]}" "${flags[@]}" >../flags
    mkdir -p ../lean/lean
    headers_of_torch=$(awk -v out=../lean/lean -f "$selectHeaders" "$lean/index" "${texts[@]}" ../flags)
fi
case $headers_of_torch in
none) compile_unit ;;
lean)
    # NB: in a condition, bash would go on after an error.
    set +e
    (
        set -e
        compile_unit -DAT_PER_OPERATOR_HEADERS -isystem ../lean -isystem "$lean/include"
    ) >../lean-log 2>&1
    status=$?
    set -e
    if [ $status -eq 0 ]; then
        cat ../lean-log
    else
        # NB: a compiler that got no memory would have compiled the unit at another time. The same
        # unit must have the same object at all times, so the build runs it again, alone.
        if grep -qE "$no_memory" ../lean-log; then
            cat ../lean-log
            exit 1
        fi
        rm -rf "$out" ../keep
        reason=$(grep -m 1 -E '(^|[^-[:alnum:]])error' ../lean-log | sed 's|/nix/store/[^/]*/||g')
        compile_fully "${reason:-it does not compile with lean headers}"
    fi
    ;;
full*) compile_fully "${headers_of_torch#full }" ;;
*) fail "cannot read the headers of $source" ;;
esac

# Headers that look at the architectures of the whole unit, if this part was told nothing of them.
if [ "$part" != whole ]; then
    seen=()
    if [ -z "$archList" ]; then
        while read -r header; do [ ! -f "$header" ] || seen+=("$header"); done < <(sort -u ../headers)
    fi
    # NB: one grep for all: there are hundreds, and thousands of torch's. It fails where it finds
    # none.
    { grep -Fl __CUDA_ARCH_LIST__ /dev/null "${seen[@]}" || [ $? -eq 1 ]; } | sed 's|.*/||' >"$out/arch_list"
fi
