# Objects -> $out/$library.
mkdir "$out"

# shellcheck disable=SC2034 # for namespace.sh and name-places.sh
namespaceSection=.kernel_builder
# shellcheck source=nix/kernel/namespace.sh
. "$namespaceScript"
added=()
if [ -s namespace.c ]; then
    gcc -O2 -fPIC -o namespace.o -c namespace.c
    added+=(namespace.o)
fi
if [ -s module.cpp ]; then
    folders=()
    for dir in "${python[@]}"; do folders+=(-isystem "$dir"); done
    g++ -O2 -fPIC "${folders[@]}" -o module.o -c module.cpp
    added+=(module.o)
fi

# A hash table whose buckets are lists, so that a symbol can have another name later.
options=()
[ -z "$placesScript" ] || options+=('-Wl,--hash-style=sysv')
paths=()
[ -z "$platform" ] || paths+=("-L$platform/lib")
for dir in "${search[@]}"; do paths+=("-L$dir"); done
# NB: libstdc++ comes first, since torch's libraries export parts of one that are not meant for
# others (std::filesystem), and static code stays inside, so that no other library of the process
# uses it.
"$driver" -shared -fPIC "${flags[@]}" "${options[@]}" -o "$out/$library" "${objects[@]}" "${added[@]}" "${paths[@]}" -lstdc++ \
    "${libraries[@]}" -Wl,--exclude-libs,ALL
strip --strip-unneeded "$out/$library"

if [ -n "$placesScript" ] && [ -s namespace.c ]; then
    # shellcheck source=nix/kernel/name-places.sh
    . "$placesScript"
fi

if [ "${#archs[@]}" -gt 0 ]; then
    # shellcheck source=nix/kernel/archs.sh
    . "$archsScript"
fi

# A function of awk: whether one version is newer than another.
newer='function newer(a, b, n, i, left, right) {
    n = split(a, left, "."); split(b, right, ".")
    for (i = 1; i <= n; i++) if (left[i] + 0 != right[i] + 0) return left[i] + 0 > right[i] + 0
    return 0
}'

# Symbols that no library of the link defines and nobody else is known to: a loader would fail on
# them, on the machine of a user. NB: those of libraries with symbol versions carry one here (@);
# weak ones (w) may stay undefined.
nm --dynamic --undefined-only --format=posix "$out/$library" | awk '$2 == "U" && $1 !~ /@/ { print $1 }' | sort -u >undefined
readelf --dynamic --wide "$out/$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | while read -r needed; do
    for dir in "${search[@]}"; do
        [ ! -e "$dir/$needed" ] || readelf --dyn-syms --wide "$dir/$needed"
    done
done | awk '$7 != "UND" { sub(/@.*/, "", $8); print $8 }' >defined
if [ -n "$libgomp" ]; then
    # shellcheck source=nix/kernel/openmp.sh
    . "$openmpScript"
    cat openmp >>defined
fi
grep -v '^#' "$expectedSymbols" | grep . >expected
awk 'FILENAME == "defined" { defined[$1]; next } !($1 in defined)' defined undefined | { grep -E -v -f expected || true; } >lost
if [ -s lost ]; then
    while read -r symbol; do
        printf '%s, used in\n' "$(c++filt "$symbol")"
        # "/nix/store/<hash>-a.cpp.o: symbol U"
        nm --print-file-name --undefined-only --format=posix "${objects[@]}" | awk -v symbol="$symbol" '
            $2 == symbol { gsub(/^.*\/[^-]*-|:$/, "", $1); print "    " $1 }'
    done <lost >&2
    questions=()
    openmp='^(GOMP|omp)_'
    if grep -q -E -v "$openmp" lost; then questions+=('is a source file missing from build.toml?'); fi
    if grep -q -E "$openmp" lost; then
        if [ -n "$libgomp" ]; then
            questions+=("torch's OpenMP has no nested locks and no function newer than GOMP_${policy[GOMP]}")
        else
            questions+=('is "-fopenmp" missing from the cxx-flags of these files?')
        fi
    fi
    fail "nothing defines these: ${questions[*]}"
fi

# NB: the loader reads .dynsym and the version needs; .symtab may be stripped and proves nothing.
readelf --version-info --wide "$out/$library" >versions
awk '/^Version / { needs = $2 == "needs" }
    needs && match($0, /Name: [A-Z]+_[0-9.]+/) { print substr($0, RSTART + 6, RLENGTH - 6) }' versions |
    sort -u -V >needed
[ -s needed ] || fail "$library seems to need nothing of the system, so nothing was checked"
for family in "${!policy[@]}"; do printf '%s %s\n' "$family" "${policy[$family]}"; done >limits
awk "$newer"'
    FILENAME == "limits" { limit[$1] = $2; next }
    split($1, name, "_") && name[1] in limit && newer(name[2], limit[name[1]]) { print $1, name[1] "_" limit[name[1]] }
' limits needed >offenders
if [ -s offenders ]; then
    nm --dynamic --undefined-only --demangle --with-symbol-versions "$out/$library" >symbols
    while read -r version allowed; do
        printf '%s (allowed: %s) for\n' "$version" "$allowed"
        sed -n "s/^ *[A-Za-z] \(.*\)@$version\$/    \1/p" symbols
    done <offenders >&2
    fail "$library needs newer system libraries than its variant promises"
fi
