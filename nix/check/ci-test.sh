# Runs those tests of a kernel that are marked kernels_ci, with the build of one variant.
set -eu
tests=@tests@
repo=@repo@
PATH=@environment@/bin:@seed@/bin:$PATH
unset PYTHONPATH
# NB: root may write to the store, where Python would leave compiled modules in the kernel.
export PYTHONDONTWRITEBYTECODE=1
if [ -z "$tests" ]; then
    echo "the kernel has no tests"
    exit 0
fi
# shellcheck source=nix/shell/driver.sh
. @driver@
show_driver
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$tests" "$work/tests"
ln -s @package@ "$work/build"
[ -z "$repo" ] || export LOCAL_KERNELS=$repo=@package@
cd "$work"
# 5: no test is marked.
python3 -m pytest tests -m kernels_ci -p no:cacheprovider "$@" || [ $? = 5 ]
