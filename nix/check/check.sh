# A built variant -> $out, a text that says which checks ran.
export HOME=$NIX_BUILD_TOP
mkdir -p modules
cp "$disguise" modules/backend_of_torch.py
export KERNEL_BACKEND=$backend PYTHONPATH=$NIX_BUILD_TOP/modules
{
    # Triton's kernels run on the CPU if they are called at all.
    TRITON_INTERPRET=1 python3 "$load" "$package" "$variant" "$backend"

    [ -z "$untested" ] || echo "not tried: its tests, which need a GPU: \`nix run .#ciTests.$variant\`"
    if [ -n "$tests" ]; then
        # As in the kernel's folder: tests find the build beside them, by LOCAL_KERNELS, or as a
        # module.
        mkdir -p kernel
        cp -r "$tests" kernel/tests
        chmod -R u+w kernel
        ln -s "$package" kernel/build
        ln -s "$package/$variant" "modules/$module"
        cd kernel
        [ -z "$repo" ] || export LOCAL_KERNELS=$repo=$package
        # 5: no test is marked.
        python3 -m pytest tests -m kernels_ci -p backend_of_torch -p no:cacheprovider || [ $? = 5 ]
    fi
} 2>&1 | tee "$NIX_BUILD_TOP/log"
# Times differ from run to run.
sed 's/ in [0-9.]*s\b.*//' "$NIX_BUILD_TOP/log" >"$out"
