# Debian's Python -> $out/bin/python3, with libraries and headers under $out/usr.
mkdir -p "$out/usr/lib"
cd "$out"
# Merged, so that each package's libraries land in one folder.
ln -s usr/lib lib
for deb in "${debs[@]}"; do dpkg-deb -x "$deb" .; done
for dir in bin include; do ln -s "usr/$dir" "$dir"; done
multiarch=$(basename usr/lib/*-linux-gnu)
rm -rf usr/share etc var "usr/lib/$multiarch"/*.a usr/lib/python3.*/config-*
# Debian's pyconfig.h only forwards to the one of the architecture, which a compiler would have to
# look for.
for header in usr/include/"$multiarch"/python3.*/pyconfig.h; do
    cp -f "$header" "usr/include/$(basename "$(dirname "$header")")/pyconfig.h"
done
# Debian's ensurepip takes wheels from the folder that sysconfig names.
mkdir -p usr/share/python-wheels
for wheel in "${ensurepip[@]}"; do
    # A store path has 32 letters and a dash before the name.
    name=${wheel##*/}
    ln -s "$wheel" "usr/share/python-wheels/${name:33}"
done
# Facts that Python tells builds of extensions: where it lies, and the names of compilers.
sed -i -e "s#/usr/\(include\|lib\|bin\|share\)#$out/usr/\1#g" -e "s#'/usr'#'$out/usr'#g" -e "s#$multiarch-\(gcc\|g++\)#\1#g" \
    usr/lib/python3.*/_sysconfigdata_*.py

cd bin
set -- python3.*[0-9]
[ $# = 1 ] || fail "not one Python: $*"
# NB: libraries of wheels have search paths of their own, which replace this program's, and expect
# the C++ runtime and the parts of an older glibc among the system's. Loaded with the program, they
# are found whatever the system has.
needed=()
for library in libstdc++.so.6 libgcc_s.so.1 libz.so.1 libpthread.so.0 libdl.so.2 librt.so.1 libutil.so.1; do
    needed+=(--add-needed "$library")
done
patchelf "${needed[@]}" "$1"
patchelf --set-interpreter "$loader" --force-rpath \
    --set-rpath "$out/usr/lib/$multiarch:$libraries" "$1"
for link in python3 python; do ln -sf "$1" "$link"; done

# Python files are compiled here, since nobody can write it beside the files later. The hash makes
# it the same whenever it is compiled.
./python3 -m compileall -q -j "${NIX_BUILD_CORES:-1}" --invalidation-mode unchecked-hash ../lib/python3.*
