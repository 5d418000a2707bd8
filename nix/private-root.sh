# Runs a script where /bin/sh exists and is ours: programs that use system() (nvcc does) need one,
# and a sandbox may have none. A private user and mount namespace holds the same root with that one
# file more. Started by run.sh as `bash private-root.sh <run.sh> <script>` with PATH set to the
# tools.
root=$NIX_BUILD_TOP/.root
mkdir -p "$root"
mount -t tmpfs -o mode=755 none "$root"
for entry in /*; do
    [ "$entry" = /bin ] && continue
    if [ -L "$entry" ]; then
        cp -P "$entry" "$root$entry"
    elif [ -d "$entry" ]; then
        mkdir -p "$root$entry"
        mount --rbind "$entry" "$root$entry"
    fi
done
# NB: nvcc names the local symbols of a file after a hash of where the file lies.
mkdir -p "$root/build"
[ "$NIX_BUILD_TOP" = /build ] || mount --rbind "$NIX_BUILD_TOP" "$root/build"
export NIX_BUILD_TOP=/build TMPDIR=/build TEMP=/build TMP=/build TEMPDIR=/build
mkdir -p "$root/bin"
ln -s "$BASH_PROGRAM" "$root/bin/sh"
# shellcheck disable=SC2016 # expanded by the inner bash
exec chroot "$root" "$BASH_PROGRAM" -eu -c 'cd "$1" && shift && exec "$BASH_PROGRAM" -eu "$@"' bash "$NIX_BUILD_TOP" "$@"
