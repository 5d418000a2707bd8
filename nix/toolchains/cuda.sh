# NVIDIA's wheels -> $out laid out as an installed toolkit: bin, nvvm, include, lib64.
for wheel in "${wheels[@]}"; do unzip -q -o "$wheel" 'nvidia/*' -d tree; done
set -- tree/nvidia/cu*
[ $# = 1 ] || fail "wheels of more than one CUDA major version: $*"
mv "$1" "$out"
for header in "${headers[@]}"; do cp -r "$header"/nvidia/cu*/include/. "$out/include"; done
cd "$out"

# nvcc.profile and build systems expect lib64, the linker a name without a version.
[ -e lib64 ] || ln -s lib lib64
for library in lib/libcudart.so.*; do ln -s "${library##*/}" lib/libcudart.so; done

# Wheels do not record who may be executed.
find . -type f \( -path '*/bin/*' -o -path '*/nvvm/bin/*' \) -exec chmod 755 {} +

find . -type f -perm -0100 | while read -r file; do
    interpreter=$(patchelf --print-interpreter "$file" 2>/dev/null) || continue
    [ -n "$interpreter" ] || continue
    patchelf --set-interpreter "$loader" \
        --force-rpath --set-rpath "$libraries" "$file"
done
