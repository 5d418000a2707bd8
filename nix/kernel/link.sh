# Objects -> $out/$library.
gcc -O2 -fPIC -o glibc-compat.o -c "$compat"
mkdir "$out"

# What registration.h leaves to the link. NB: no `nm | grep -q`: with pipefail, nm ended by the closed pipe is a failure.
symbols=$(nm "${objects[@]}")
{
    printf '__attribute__((visibility("hidden"))) const char kernel_builder_namespace[] = "%s";\n' "$namespace"
    if [[ $symbols == *' T kernel_builder_module'* ]]; then
        printf '__attribute__((visibility("hidden"))) void *kernel_builder_module(void);\n'
        printf 'void *PyInit_%s(void) { return kernel_builder_module(); }\n' "$namespace"
    fi
} >namespace.c
gcc -O2 -fPIC -o namespace.o -c namespace.c

paths=()
for dir in "${search[@]}"; do paths+=("-L$dir"); done
g++ -shared -fPIC "${flags[@]}" -o "$out/$library" "${objects[@]}" namespace.o glibc-compat.o "${paths[@]}" "${libraries[@]}"
strip --strip-unneeded "$out/$library"

# NB: .dynsym and the version needs are what the loader reads; .symtab may be stripped and proves nothing.
readelf --version-info --wide "$out/$library" >versions
problems=$(
    awk '/version needs section/ { needs = 1 } /version definition section/ { needs = 0 }
        needs && match($0, /Name: [A-Z]+_[0-9.]+/) { print substr($0, RSTART + 6, RLENGTH - 6) }' versions |
        sort -u | while IFS=_ read -r family version; do
        limit=${policy[$family]-}
        [ -n "$limit" ] || continue
        newest=$(printf '%s\n%s\n' "$limit" "$version" | sort -V | tail -n 1)
        [ "$newest" = "$limit" ] || printf '%s_%s (allowed: %s)\n' "$family" "$version" "$limit"
    done
)
if [ -n "$problems" ]; then
    printf '%s\n' "$problems" >&2
    readelf --dyn-syms --wide "$out/$library" | grep ' UND ' | grep -F -f <(printf '%s\n' "$problems" | sed 's/ .*//') >&2
    fail "$library needs newer system libraries than its variant promises"
fi
