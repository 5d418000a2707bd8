# Names of libraries -> $out, shared libraries that have these names and no content.
mkdir "$out"
for name in "${names[@]}"; do
    gcc -shared -nostdlib -Wl,-soname,"lib$name.so" -Wl,--build-id=none -o "$out/lib$name.so" -x c /dev/null
done
