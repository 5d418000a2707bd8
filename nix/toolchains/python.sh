# Debian's libpython3.X-dev -> $out/include, all of Python.h's headers in one folder.
for deb in "${debs[@]}"; do dpkg-deb -x "$deb" tree; done
mkdir "$out"
cp -r tree/usr/include/python3.* "$out/include"
# Debian's pyconfig.h only forwards to the one of the architecture.
cp tree/usr/include/*-linux-gnu/python3.*/pyconfig.h "$out/include/pyconfig.h"
