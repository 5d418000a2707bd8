# Sourced by package.sh: checks the native files of $dir that the kernel's author has built, as
# link.sh checks the library.
natives=()
while IFS= read -r -d '' file; do
    [ "$file" != "$dir/$libraryName" ] || continue
    magic=
    IFS= read -r -N 4 magic <"$file" || true
    # ELF, Mach-O, and Mach-O for several processors.
    case $magic in $'\x7fELF' | $'\xcf\xfa\xed\xfe' | $'\xca\xfe\xba\xbe') natives+=("$file") ;; esac
done < <(find "$dir" -type f -print0)
if [ "${#natives[@]}" -gt 0 ] && [ -n "$abi" ]; then
    options=()
    for list in "${names[@]}"; do options+=(--names "$list"); done
    [ -z "$wholeNames" ] || options+=(--whole-names)
    [ -z "$shim" ] || options+=(--shim "$shim")
    python3 -B "$abi/program/check.py" --link --variant "$variant" "${options[@]}" "${natives[@]}" >&2
elif [ "${#natives[@]}" -gt 0 ]; then
    [ -n "$library" ] || fail "${natives[0]#"$dir/"} is native code, and a kernel of Python alone is for every system"
    case $variant in *-darwin) echo "not checked: ${natives[*]#"$dir/"}; run \`kernel-builder check-abi\`" >&2 ;;
    *) fail "${natives[0]#"$dir/"} is native code by another name: give it the extension .so" ;; esac
fi
