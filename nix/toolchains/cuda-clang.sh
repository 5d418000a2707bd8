# NVIDIA's wheels -> $out laid out as an installed toolkit: bin, nvvm, include, lib64.
mkdir tree "$out"
for part in "${parts[@]}"; do
    if [ -d "$part" ]; then cp -r "$part/." tree && chmod -R u+w tree; else unzip -q -o "$part" 'nvidia/*' -d tree; fi
done
for component in tree/nvidia/*/; do cp -r "$component/." "$out"; done
cd "$out"
find . -name __init__.py -exec rm {} +
rm -rf .metadata lib/cmake

ln -s lib lib64
# The linker looks for names without a version.
for library in lib/lib*.so.*; do
    name=${library##*/}
    ln -s "$name" "lib/${name%%.so.*}.so"
done

gcc -O2 -Wall -Wextra -Werror -Iinclude -o bin/fatbinary "$fatbinary" -Llib -lnvfatbin
for program in ptxas fatbinary; do
    chmod 755 "bin/$program"
    patchelf --set-interpreter "$loader" \
        --force-rpath --set-rpath "$out/lib:$libraries" "bin/$program"
done
