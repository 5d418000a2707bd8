# Uploads every built variant to the kernel's repository.
set -eu
repo=@repo@
branch=@branch@
PATH=@tool@$PATH
if [ -z "$repo" ]; then
    echo "error: build.toml does not say where to: set general.hub.repo-id" >&2
    exit 1
fi
if ! kernel-builder upload --help >/dev/null 2>&1; then
    echo "error: this kernel-builder has no command \`upload\`: the variants are in @bundle@" >&2
    exit 3
fi
exec kernel-builder upload --repo-id "$repo" ${branch:+--branch "$branch"} "$@" @bundle@
