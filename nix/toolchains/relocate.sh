# Sourced by recipes whose programs were built for folders of a distribution.

# Usage: relocate ROOT LOADER FOLDERS Makes the programs below ROOT run with LOADER and find
# libraries in FOLDERS (separated by colons) after those that they name relative to themselves, and
# the shared libraries that name folders likewise.
relocate() {
    local file interpreter own
    find "$1" -type f \( -perm -0100 -o -name '*.so*' \) | while read -r file; do
        # Scripts, objects and static programs are refused here.
        own=$(patchelf --print-rpath "$file" 2>/dev/null) || continue
        interpreter=$(patchelf --print-interpreter "$file" 2>/dev/null) || interpreter=
        case $own in *\$ORIGIN*) ;; *) own= ;; esac
        if [ -n "$interpreter" ]; then
            patchelf --set-interpreter "$2" --force-rpath --set-rpath "${own:+$own:}$3" "$file"
        elif [ -n "$own" ]; then
            patchelf --force-rpath --set-rpath "$own:$3" "$file"
        fi
    done
}

# Usage: relink ROOT
# Links of packages are absolute; in a tree of their own they must stay inside of it.
relink() {
    local link target
    find "$1" -type l | while read -r link; do
        target=$(readlink "$link")
        case $target in /*) ln -sfn "$1$target" "$link" ;; esac
    done
}
