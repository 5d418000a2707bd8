# Objects and compiled shaders -> $out/$library, for macOS.
mkdir "$out"
namespaceSection=
# shellcheck source=nix/kernel/namespace.sh
. "$namespaceScript"
xcrun --sdk macosx clang -O2 -fPIC -o namespace.o -c namespace.c
xcrun --sdk macosx clang++ -O2 -fPIC -isystem "$(xcode-select --print-path)/Library/Frameworks/Python3.framework/Headers" \
    -o module.o -c module.cpp
made=(namespace.o module.o)

# The compiled shaders, which templates/torch/metallib.h leaves to the link.
if [ "${#shaders[@]}" -gt 0 ]; then
    # shellcheck source=nix/kernel/metal.sh
    . "$metal"
    "$metal_bin/metallib" -o kernel.metallib "${shaders[@]}"
    {
        printf '.section __TEXT,__const\n.p2align 4\n'
        printf '.globl _kernel_builder_metallib_data\n.private_extern _kernel_builder_metallib_data\n'
        printf '_kernel_builder_metallib_data:\n.incbin "kernel.metallib"\n1:\n.p2align 3\n'
        printf '.globl _kernel_builder_metallib_size\n.private_extern _kernel_builder_metallib_size\n'
        printf '_kernel_builder_metallib_size:\n.quad 1b - _kernel_builder_metallib_data\n'
    } >shaders.s
    xcrun --sdk macosx clang -o shaders.o -c shaders.s
    made+=(shaders.o)
fi

paths=()
for dir in "${search[@]}"; do paths+=("-L$dir"); done
xcrun --sdk macosx "${driver#apple-}" "${flags[@]}" -o "$out/$library" "${objects[@]}" "${made[@]}" "${paths[@]}" \
    "${libraries[@]}"
xcrun --sdk macosx strip -x "$out/$library"

# Everything that it needs is the system's, or is found in a process that has imported torch.
xcrun otool -L "$out/$library" | sed 1d >needed
while read -r name _; do
    case $name in
    /usr/lib/* | /System/Library/Frameworks/* | @rpath/libtorch*.dylib | @rpath/libc10*.dylib) ;;
    *) fail "$library needs $name, which machines that load it do not have" ;;
    esac
done <needed
