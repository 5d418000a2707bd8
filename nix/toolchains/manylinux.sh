# The sysroot's libraries -> $out/lib, where -lstdc++, -lm, -lgcc_s and -lc find libraries that
# have, in this order, 1. stubs of the shared libraries with nothing newer than the policy: most of
# a kernel's symbols end here, 2. static code for what those lack: libstdc++.a, libgcc.a, and our
# own (manylinux/*/*.c), 3. stubs with the rest, so that a symbol that nobody can give keeps its
# version and is seen after the link. A stub has symbols and their versions, and no code: it is
# never loaded.
mkdir -p "$out/lib/beyond"
# A stub that would have no symbols is not made.
shopt -s nullglob
limits=
for family in "${!policy[@]}"; do limits+=" $family ${policy[$family]}"; done

# Usage: stub NAME SOURCE NB: those of the third kind have a name of their own: the linker skips a
# second library of the same name.
stub() {
    gcc -shared -nostdlib -Wl,-soname,"$1" -Wl,--version-script,"$2.map" -o "$out/lib/$1" -x assembler "$2.s"
}
for soname in libc.so.6 "$loader" libm.so.6 libmvec.so.1 libgcc_s.so.1 libstdc++.so.6; do
    # Not every architecture's glibc has vectors of mathematical functions.
    [ "$soname" != libmvec.so.1 ] || [ -e "$libraries/$soname" ] || continue
    mkdir -p "$soname/within" "$soname/beyond"
    readelf --dyn-syms --wide "$libraries/$soname" | awk -v soname="$soname" -v limits="$limits" -v dir="$soname" \
        -f "$parts/stubs.awk"
    for made in "$soname"/within/*.s; do stub "$(basename "$made" .s)" "${made%.s}"; done
    for made in "$soname"/beyond/*.s; do stub "beyond/$soname" "${made%.s}"; done
done

# Our own code. No member may call what it stands for, and none is seen outside of the library that
# takes it.
for part in glibc libstdc++; do
    mkdir "$part"
    for source in "$parts/$part"/*.c; do
        gcc -O2 -fPIC -fvisibility=hidden -fno-builtin -Wall -Wextra -Werror \
            -o "$part/$(basename "$source" .c).o" -c "$source"
    done
done
ar -rcD "$out/lib/libcompat.a" glibc/*.o
archive=$out/lib/libstdc++.a
cp "$(gcc -print-file-name=libstdc++.a)" "$archive"
chmod u+w "$archive"
ar -rD "$archive" libstdc++/*.o

readelf --section-groups --symbols --wide "$archive" |
    awk -f "$parts/shield.awk" libstdc++.so.6/within/libstdc++.so.6.names - >shield.s
gcc -o "$out/lib/shield.o" -x assembler -c shield.s

# Usage: script NAME MEMBER...; writes a linker script of those stubs that were made and of all
# other members.
script() {
    local name=$1 members=() member
    shift
    for member in "$@"; do
        case $member in
        -l* | /*) members+=("$member") ;;
        *.so.*) [ ! -e "$out/lib/$member" ] || members+=("AS_NEEDED ( $out/lib/$member )") ;;
        *) members+=("$out/lib/$member") ;;
        esac
    done
    printf 'GROUP ( %s )\n' "${members[*]}" >"$out/lib/$name"
}
script libstdc++.so libstdc++.so.6 shield.o libstdc++.a beyond/libstdc++.so.6
script libm.so libm.so.6 libmvec.so.1 beyond/libm.so.6 beyond/libmvec.so.1
script libgcc_s.so libgcc_s.so.1 -lgcc beyond/libgcc_s.so.1
script libc.so libc.so.6 "$loader" libpthread.so.0 libdl.so.2 librt.so.1 libutil.so.1 libanl.so.1 \
    libresolv.so.2 libcompat.a "$libraries/libc_nonshared.a" beyond/libc.so.6 "beyond/$loader"
