# A built variant -> $out, the words of what was tried.
export HOME=$NIX_BUILD_TOP
{
    python3 "$load" "$package" "$backend"

    if [ -n "$tests" ]; then
        # As in the kernel's folder: tests find the build beside them, by LOCAL_KERNELS, or as a module.
        mkdir -p kernel modules
        cp -r "$tests" kernel/tests
        chmod -R u+w kernel
        ln -s "$package" kernel/build
        ln -s "$package/$variant" "modules/$module"
        cd kernel
        [ -z "$repo" ] || export LOCAL_KERNELS=$repo=$package
        # 5: no test is marked.
        PYTHONPATH=$NIX_BUILD_TOP/modules python3 -m pytest tests -m kernels_ci -p no:cacheprovider || [ $? = 5 ]
    fi
} 2>&1 | tee "$NIX_BUILD_TOP/log"
# Times differ from run to run.
sed 's/ in [0-9.]*s\b.*//' "$NIX_BUILD_TOP/log" >"$out"
