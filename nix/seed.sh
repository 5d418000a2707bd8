# The seed's programs under the names that scripts call them by. NB: busybox must be called by path
# here, since no PATH exists yet.
"$binaries/bin/busybox" mkdir -p "$out/bin"
for applet in $("$binaries/bin/busybox" --list); do
    "$binaries/bin/busybox" ln -s "$binaries/bin/busybox" "$out/bin/$applet"
done
for program in bash patchelf; do
    "$binaries/bin/busybox" ln -sf "$binaries/bin/$program" "$out/bin/$program"
done
"$binaries/bin/busybox" ln -sf "$binaries/bin/bash" "$out/bin/sh"
