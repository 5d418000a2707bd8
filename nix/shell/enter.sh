# The start of a development shell. Only the folder .venv outlives the shell.

# Set by `kernel-builder devshell`: where that program is.
[ -z "${KERNEL_BUILDER_TOOL-}" ] || PATH=$PATH:$KERNEL_BUILDER_TOOL

# Builds have this value, which `nix develop` passes on.
if [ "${SHELL-}" = /noshell ]; then
    SHELL=$(readlink "/proc/$$/exe")
    BASH=$SHELL
fi

unset PYTHONPATH PYTHONHOME LD_LIBRARY_PATH
if [ -n "${KERNEL_BUILDER_DRIVER-}" ]; then
    # shellcheck source=nix/shell/driver.sh
    . "$KERNEL_BUILDER_SHELL/driver.sh"
    show_driver
fi

# A virtual environment for packages that a person installs here; torch and the rest come from the
# shell.
kernel_builder_venv() {
    local venv=$PWD/.venv marker=$PWD/.venv/.kernel-builder site
    if [ -e "$venv" ] && [ ! -e "$marker" ]; then
        echo "note: .venv is not of kernel-builder: it is left alone and not entered" >&2
        return 0
    fi
    # One whose Python was collected as garbage is made again.
    if ! "$venv/bin/python3" -c '' 2>/dev/null; then
        rm -rf "$venv"
        python3 "$KERNEL_BUILDER_SHELL/make_venv.py" "$venv" || return
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
unset -f kernel_builder_venv

if [ -n "${KERNEL_BUILDER_UNPINNED-}" ]; then
    echo "note: flake.nix asks for Python packages that nobody has pinned: $KERNEL_BUILDER_UNPINNED" >&2
    echo "      \`kernel-builder pin-python $KERNEL_BUILDER_UNPINNED\` pins them; \`pip install\` puts them into .venv" >&2
fi

if [ -n "${KERNEL_BUILDER_REPO-}" ]; then
    export LOCAL_KERNELS=$KERNEL_BUILDER_REPO=${KERNEL_BUILDER_PACKAGE:-$PWD/build}
fi
PS1="[$KERNEL_BUILDER_VARIANT] ${PS1-\\$ }"
