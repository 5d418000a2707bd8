# Intel's packages -> $out: bin (icx, icpx), include, lib, and oneapi, laid out as Intel installs
# it.
# shellcheck source=nix/toolchains/rpm.sh
. "$unpack"
# shellcheck source=nix/toolchains/relocate.sh
. "$relocate"
for rpm in "${rpms[@]}"; do unpack_rpm "$rpm" "$PWD/tree"; done
mkdir -p "$out/bin" "$out/include" "$out/lib"
mv tree/opt/intel/oneapi "$out/oneapi"
set -- "$out"/oneapi/compiler/[0-9]*
compiler=$1
[ $# = 1 ] || fail "more than one compiler in Intel's packages: $*"
[ -x "$compiler/bin/icpx" ] || fail "no compiler/<version>/bin/icpx in Intel's packages"
find "$out" -type l | while read -r link; do
    target=$(readlink "$link")
    case $target in /opt/intel/oneapi/*) ln -sfn "$out/oneapi${target#/opt/intel/oneapi}" "$link" ;; esac
done
runtime=$(printf '%s:' "$out"/oneapi/*/[0-9]*/lib)
set -- "$sysroot"/lib64/ld-linux-*.so.*
relocate "$out/oneapi" "$1" "$runtime$libraries"

gcc=$(dirname "$(gcc -print-libgcc-file-name)")
for program in icx icpx; do
    printf '#!%s\nexec %s/bin/%s --sysroot=%s --gcc-install-dir=%s "$@"\n' \
        "$builder" "$compiler" "$program" "$sysroot" "$gcc" >"$out/bin/$program"
    chmod 755 "$out/bin/$program"
done
# Only the headers that torch's headers include: the compiler's own folder holds a <complex> that is
# not for everybody.
for name in sycl CL; do [ ! -e "$compiler/include/$name" ] || ln -s "$compiler/include/$name" "$out/include/$name"; done
for header in "$out"/oneapi/mkl/[0-9]*/include/*; do [ ! -e "$header" ] || ln -s "$header" "$out/include"; done
for library in "$compiler"/lib/lib*.so*; do [ ! -e "$library" ] || ln -s "$library" "$out/lib"; done
