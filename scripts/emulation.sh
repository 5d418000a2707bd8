#!/usr/bin/env bash
# Lets Linux on another processor run programs for aarch64, through qemu: installs qemu-user-static
# and tells the kernel about it. Ends with 3 where the kernel or the user's rights forbid that.
set -euo pipefail
handler=/proc/sys/fs/binfmt_misc/qemu-aarch64
[ "$(uname -m)" != aarch64 ] || exit 0

[ -e /usr/lib/binfmt.d/qemu-aarch64.conf ] || {
    as_root=()
    [ "$(id -u)" = 0 ] || as_root=(sudo)
    "${as_root[@]}" apt-get install -y -qq --no-install-recommends qemu-user-static >/dev/null
}
if [ ! -e "$handler" ]; then
    [ -e "${handler%/*}/register" ] || mount -t binfmt_misc binfmt_misc "${handler%/*}" || exit 3
    # NB: without the flag F, a sandbox would look for qemu inside of itself. Debian's line has it.
    cat /usr/lib/binfmt.d/qemu-aarch64.conf >"${handler%/*}/register" || exit 3
fi
