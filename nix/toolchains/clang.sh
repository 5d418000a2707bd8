# Debian packages -> $out, and bin/clang++ in it, aimed at the host compiler's headers and
# libraries.
mkdir -p "$out/usr/lib" "$out/bin"
cd "$out"
# Merged /usr, as in the sysroot.
ln -s usr/lib lib
for deb in "${debs[@]}"; do dpkg-deb -x "$deb" .; done
rm -rf usr/bin usr/share etc

libraries=usr/lib/$triplet
set -- usr/lib/llvm-*/bin/clang
[ -e "$1" ] || fail "no clang in the packages"
[ $# = 1 ] || fail "more than one clang in the packages: $*"
# NB: RPATH, which the libraries of a library inherit, and in each file, since one with a RUNPATH
# inherits nothing.
patchelf --set-interpreter "$loader" "$1"
for file in "$1" "$libraries"/libclang-cpp.so.* "$libraries"/libLLVM.so.*; do
    [ -L "$file" ] || patchelf --force-rpath --set-rpath "$out/$libraries:$sysroot/$libraries" "$file"
done

# clang's sqrtf is an approximation, unlike nvcc's, whose -prec-sqrt=true is the default.
math=$(echo usr/lib/llvm-*/lib/clang/*/include/__clang_cuda_math.h)
sed 's/^\(__DEVICE__ float sqrtf(float __a) {\) return __nv_sqrtf(__a); }$/\1\
#ifdef KERNEL_BUILDER_APPROXIMATE_SQRT\
  return __nv_sqrtf(__a);\
#else\
  return __nv_fsqrt_rn(__a);\
#endif\
}/' "$math" >exact
! cmp -s exact "$math" || fail "$math has another sqrtf than this recipe knows"
mv exact "$math"

gcc=$(echo "$sysroot"/usr/lib/gcc/"$triplet"/*)
printf '#!%s\nexec %s/clang++ --sysroot=%s --gcc-install-dir=%s "$@"\n' \
    "$builder" "$out/${1%/*}" "$sysroot" "$gcc" >bin/clang++
chmod 755 bin/clang++
