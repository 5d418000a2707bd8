#!/usr/bin/env bash
# Runs a line of shell script in a root file system as on a machine of its own: with its mounts and
# processes, and the settings that make-root.sh copied. Usage: enter-root.sh ROOT USER LINE. As
# another user than root, with Nix's daemon.
set -euo pipefail
# NB: pivot_root and not chroot, in which Linux makes no user namespaces for Nix's sandbox.
# shellcheck disable=SC2016 # the inner shell expands them
exec env -i TERM="${TERM:-dumb}" PATH=/usr/sbin:/usr/bin:/sbin:/bin unshare --mount --pid --fork --kill-child bash -euo pipefail -c '
root=$1 user=$2 line=$3
mount --bind "$root" "$root"
cd "$root"
mount --rbind /dev dev
mount --rbind /sys sys
mount -t proc proc proc
mkdir -p old-root
pivot_root . old-root
umount --lazy /old-root
. /machine/environment
if [ "$user" != root ]; then
    nix-daemon >/var/log/nix-daemon.log 2>&1 &
fi
export HOME=$(getent passwd "$user" | cut -d : -f 6) USER=$user LOGNAME=$user LANG=C.UTF-8
profile=$HOME/.nix-profile/bin:$HOME/.cargo/bin:$HOME/.local/bin
export PATH=$profile:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
cd "$HOME"
setpriv --reuid="$user" --regid="$user" --init-groups bash -euo pipefail -c "$line"
' bash "$@"
