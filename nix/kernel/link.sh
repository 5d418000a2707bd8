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

# A loader would fail on a symbol that no library of the link defines and nobody else is known to,
# on the machine of a user. NB: `check` of nix/abi judges the linked file, not the command that
# linked it, since objects and flags of a kernel may ask for anything.
options=()
for family in "${!policy[@]}"; do options+=(--limit "$family=${policy[$family]}"); done
for dir in "${search[@]}"; do options+=(--search "$dir"); done
for list in "${names[@]}"; do options+=(--names "$list"); done
[ -z "$wholeNames" ] || options+=(--whole-names)
[ -z "$shim" ] || options+=(--shim "$shim")
if [ -n "$libgomp" ]; then
    # shellcheck source=nix/kernel/openmp.sh
    . "$openmpScript"
    options+=(--defined openmp --openmp "${policy[GOMP]}")
fi
for object in "${objects[@]}"; do options+=(--object "$object"); done
python3 -B "$abi/program/check.py" --link --variant "$variant" "${options[@]}" "$out/$library" >&2
