# The start of a development shell. Only the folder .venv outlives the shell.

# Set by `kernel-builder devshell`: where that program is.
[ -z "${KERNEL_BUILDER_TOOL-}" ] || PATH=$PATH:$KERNEL_BUILDER_TOOL

# Builds have this value, which `nix develop` passes on.
if [ "${SHELL-}" = /noshell ]; then
    SHELL=$(readlink "/proc/$$/exe")
    BASH=$SHELL
fi

unset PYTHONPATH PYTHONHOME LD_LIBRARY_PATH
# NB: root may write to the store, where Python would leave compiled modules in torch and in the
# kernel.
[ ! -w "${KERNEL_BUILDER_ENVIRONMENT-}" ] || export PYTHONDONTWRITEBYTECODE=1
if [ -n "${KERNEL_BUILDER_DRIVER-}" ]; then
    # shellcheck source=nix/shell/driver.sh
    . "$KERNEL_BUILDER_SHELL/driver.sh"
    show_driver
fi

# A virtual environment for packages that a person installs here; torch and the rest come from the
# shell.
kernel_builder_venv() {
    local venv=$PWD/.venv marker=$PWD/.venv/.kernel-builder site python is_new=
    if [ -e "$venv" ] && [ ! -e "$marker" ]; then
        echo "note: .venv is not of kernel-builder: it is left alone and not entered" >&2
        return 0
    fi
    # One of another Python, which may be gone, gets the Python of this shell. NB: the scripts are
    # as read-only as those in the store.
    python=$(readlink -f "$(type -P python3)")
    if [[ $(cat "$venv/pyvenv.cfg" 2>/dev/null) != *"executable = $python"$'\n'* ]]; then
        [ -e "$venv" ] || is_new=1
        rm -f "$venv"/bin/python* "$venv"/bin/[Aa]ctivate*
        if ! python3 "$KERNEL_BUILDER_SHELL/make_venv.py" "$venv"; then
            [ -z "$is_new" ] || rm -rf "$venv"
            echo "note: .venv could not be made, for the reason above" >&2
            return 0
        fi
        printf '*\n' >"$venv/.gitignore"
    fi
    # Installed packages stay when the variant changes.
    if [ "$(cat "$marker" 2>/dev/null)" != "$KERNEL_BUILDER_ENVIRONMENT" ]; then
        site=$(echo "$venv"/lib/python3.*/site-packages)
        printf 'import site; site.addsitedir("%s/site")\n' "$KERNEL_BUILDER_ENVIRONMENT" >"$site/kernel-builder.pth"
        printf '%s' "$KERNEL_BUILDER_ENVIRONMENT" >"$marker"
    fi
    export VIRTUAL_ENV=$venv PATH=$venv/bin:$PATH
}
kernel_builder_venv

# The built kernel, as a module and for the client.
kernel_builder_module() {
    local folder=${KERNEL_BUILDER_PACKAGE:-$PWD/build}
    local built=$folder/$KERNEL_BUILDER_VARIANT
    export KERNEL_BUILDER_MODULE=$KERNEL_BUILDER_NAME=$built
    [ -z "${KERNEL_BUILDER_REPO-}" ] || export LOCAL_KERNELS=$KERNEL_BUILDER_REPO=$folder
    local build="\`kernel-builder build --variant $KERNEL_BUILDER_VARIANT\`"
    if [ ! -e "$built/metadata.json" ]; then
        echo "note: build/$KERNEL_BUILDER_VARIANT is not built yet: \`import $KERNEL_BUILDER_NAME\` works after $build" >&2
    elif [ -n "$KERNEL_BUILDER_BUILD_ID" ] && [[ $(<"$built/metadata.json") != *"\"$KERNEL_BUILDER_BUILD_ID\""* ]]; then
        echo "note: build/$KERNEL_BUILDER_VARIANT is older than the kernel's files: $build builds it again" >&2
    fi
}
kernel_builder_module
unset -f kernel_builder_venv kernel_builder_module

if [ -n "${KERNEL_BUILDER_UNPINNED-}" ]; then
    echo "note: flake.nix asks for Python packages that nobody has pinned: $KERNEL_BUILDER_UNPINNED" >&2
    echo "      \`kernel-builder pin-python $KERNEL_BUILDER_UNPINNED\` pins them; \`pip install\` puts them into .venv" >&2
fi
PS1="[$KERNEL_BUILDER_VARIANT] ${PS1-\\$ }"
