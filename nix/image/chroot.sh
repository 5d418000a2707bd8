# To be sourced: runs a program as root of a root file system, in a user namespace of its own.
in_root() {
    # shellcheck disable=SC2016,SC2154 # expanded by the inner bash; the builder is Nix's
    unshare -U -r -m "$builder" -eu -c '
        mount --rbind /dev "$1/dev"
        mount --rbind /proc "$1/proc"
        root=$1
        shift
        exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin HOME=/root LC_ALL=C TZ=UTC "$@"
    ' bash "$@"
}
