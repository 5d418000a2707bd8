# Sourced by recipes that take RPM packages.

# Usage: unpack_rpm FILE DIR NB: busybox knows payloads in gzip, bzip2, lzma and xz, which is what
# AlmaLinux 8, AMD and Intel build for.
unpack_rpm() {
    mkdir -p "$2"
    (cd "$2" && rpm2cpio "$1" | cpio -i -d -m -u 2>cpio.log) || {
        cat "$2/cpio.log" >&2
        fail "cannot unpack ${1##*/}: not an RPM package with a payload in gzip, bzip2, lzma or xz"
    }
    rm "$2/cpio.log"
    # Packages make folders that their owner may not write to.
    chmod -R u+w "$2"
}
