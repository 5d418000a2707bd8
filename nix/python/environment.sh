# Packages -> $out/site/kernel-builder.pth, which adds them to a Python, and $out/bin.
mkdir -p "$out/bin" "$out/site"
{
    # NB: with RTLD_GLOBAL and by path: who asks for a library by name later gets the one that is
    # loaded.
    for pattern in "${preload[@]}"; do
        for library in $pattern; do printf 'import ctypes; ctypes.CDLL("%s", ctypes.RTLD_GLOBAL)\n' "$library"; done
    done
    # Not a bare path: packages have .pth files of their own.
    for wheel in "${wheels[@]}"; do printf 'import site; site.addsitedir("%s/site")\n' "$wheel"; done
    # The name keeps the module apart from those that people write.
    printf 'import os; "KERNEL_BUILDER_MODULE" in os.environ and __import__("_kernel_builder_module")\n'
} >"$out/site/kernel-builder.pth"

cp "$builtKernel" "$out/site/_kernel_builder_module.py"

# A venv that finds this folder by itself, for programs that are started outside of a shell.
version=$(python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
mkdir -p "$out/lib/$version"
ln -s ../../site "$out/lib/$version/site-packages"
printf 'home = %s/bin\ninclude-system-site-packages = false\n' "$interpreter" >"$out/pyvenv.cfg"
for link in python3 python; do ln -s "$interpreter/bin/python3" "$out/bin/$link"; done

for wheel in "${wheels[@]}"; do
    for program in "$wheel"/bin/*; do [ ! -e "$program" ] || ln -s "$program" "$out/bin"; done
done
# Programs that are Python take the python3 of the PATH: that of a user's virtual environment, where
# there is one.
"$out/bin/python3" "$scripts" | while read -r name module function; do
    [ ! -e "$out/bin/$name" ] || continue
    cat >"$out/bin/$name" <<EOF
#!$seed/bin/bash
exec python3 -c 'import sys; from $module import ${function%%.*}; sys.argv[0] = "$name"; sys.exit($function())' "\$@"
EOF
    chmod 755 "$out/bin/$name"
done
