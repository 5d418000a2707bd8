# shellcheck shell=bash
# To be sourced: lets root build with a Nix that has no users to do so, in a container say.
# kernel-builder does the same by itself (src/nix/mod.rs).
if [ "$(id -u)" = 0 ] && ! getent group nixbld >/dev/null; then
    export NIX_CONFIG="${NIX_CONFIG-}
build-users-group ="
fi
