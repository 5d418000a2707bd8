# Debian's Rust -> $out/bin: rustc, cargo, and cc, the linker.
mkdir -p "$out/bin" "$out/usr/lib"
cd "$out"
# Merged, so that each package's libraries land in one folder.
ln -s usr/lib lib
for deb in "${debs[@]}"; do dpkg-deb -x "$deb" .; done
rm -rf usr/share usr/libexec usr/bin/rustdoc etc var

for program in rustc cargo; do
    patchelf --set-interpreter "$loader" --force-rpath --set-rpath "$out/usr/lib/$triplet:$libraries" \
        "usr/bin/$program"
    ln -s "../usr/bin/$program" "bin/$program"
done
# NB: a search path of a library's own would replace that of the program that loads it.
for library in usr/lib/"$triplet"/libLLVM.so.*; do patchelf --remove-rpath "$library"; done

# Build scripts are programs that run during a build: they use the sysroot's loader, since a sandbox
# has no other. A static program needs none, and libraries take that of their program.
cat >bin/cc <<EOF
#!$builder
for argument in "\$@"; do
    case \$argument in
    -static | -static-pie | -shared) exec gcc "\$@" ;;
    esac
done
exec gcc -Wl,--dynamic-linker=$loader -Wl,-rpath,$libraries "\$@"
EOF
chmod 755 bin/cc
