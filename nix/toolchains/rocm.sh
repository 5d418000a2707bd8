# AMD's packages -> $out, laid out as an installed ROCm: bin, include, lib, amdgcn.
# shellcheck source=nix/toolchains/rpm.sh
. "$unpack"
# shellcheck source=nix/toolchains/relocate.sh
. "$relocate"
for rpm in "${rpms[@]}"; do unpack_rpm "$rpm" "$PWD/tree"; done
set -- tree/opt/rocm-*
[ $# = 1 ] || fail "more than one ROCm in AMD's packages: $*"
[ -d "$1" ] || fail "no opt/rocm-<version> in AMD's packages"
installed=/${1#tree/}
mv "$1" "$out"
# Libraries of the system that the programs are linked with.
mkdir -p "$out/system"
[ ! -d tree/usr/lib64 ] || cp -a tree/usr/lib64/. "$out/system"
find "$out" -type l | while read -r link; do
    target=$(readlink "$link")
    case $target in "$installed"/*) ln -sfn "$out${target#"$installed"}" "$link" ;; esac
done
set -- "$sysroot"/lib64/ld-linux-*.so.*
relocate "$out" "$1" "$out/system:$libraries"

clang=$out/lib/llvm/bin/clang++
[ -x "$clang" ] || fail "no lib/llvm/bin/clang++ in ROCm's packages"
gcc=$(dirname "$(gcc -print-libgcc-file-name)")
mkdir "$out/kernel-builder" "$out/kernel-builder/bin"
printf '#!%s\nexec %s --sysroot=%s --gcc-install-dir=%s --rocm-path=%s "$@"\n' \
    "$builder" "$clang" "$sysroot" "$gcc" "$out" >"$out/kernel-builder/bin/clang++"
chmod 755 "$out/kernel-builder/bin/clang++"
