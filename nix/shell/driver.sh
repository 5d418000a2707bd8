# Makes the GPU driver of the machine visible to programs whose loader does not look where the
# machine's does. Sourced by shells and by programs of a kernel's flake.

# Prints the folder of a library of the machine.
find_driver() {
    local library=$1 folder
    for folder in /run/opengl-driver/lib /usr/lib/wsl/lib; do
        [ -e "$folder/$library" ] && echo "$folder" && return
    done
    folder=$({ ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null | sed -n "s|.*$library (libc6,[^)]*64[^)]*) => \(.*\)/$library|\1|p" |
        head -n 1) || true
    for folder in "$folder" "/usr/lib/$(uname -m)-linux-gnu" /usr/lib64 /usr/local/nvidia/lib64; do
        [ -n "$folder" ] && [ -e "$folder/$library" ] && echo "$folder" && return
    done
    return 1
}

# Sets LD_LIBRARY_PATH to the driver's libraries and nothing else of the machine.
show_driver() {
    local folder links library
    unset LD_LIBRARY_PATH
    folder=$(find_driver libcuda.so.1) || {
        echo "note: no NVIDIA driver (libcuda.so.1) on this machine: torch will see no GPU" >&2
        return 0
    }
    links=${XDG_CACHE_HOME:-$HOME/.cache}/kernel-builder/driver
    mkdir -p "$links"
    for library in "$folder"/libcuda.so* "$folder"/libnvidia-*.so* "$folder"/libcudadebugger.so*; do
        [ ! -e "$library" ] || ln -sfn "$library" "$links/${library##*/}"
    done
    export LD_LIBRARY_PATH=$links
}
