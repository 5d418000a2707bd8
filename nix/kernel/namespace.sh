# Sourced by link.sh and link-macos.sh: what objects leave to the link -> namespace.c and
# module.cpp, each empty if the link has nothing to add. NB: no `nm | grep -q`: with pipefail, nm
# ended by the closed pipe is a failure.
symbols=$(nm "${objects[@]}")
# macOS puts an underscore before every name.
modules=$(awk '$2 == "T" && sub(/^_?PyInit_/, "", $3) { print $3 }' <<<"$symbols")

has_module() { [[ $symbols == *' T kernel_builder_module'* || $symbols == *' T _kernel_builder_module'* ]]; }

# The Python module: _ops.py imports the library of a torch kernel, whether its author wrote a
# module or only registers operators. It is empty, as one of REGISTER_EXTENSION is.
: >module.cpp
if [ -n "$registration" ] && ! has_module && [[ $'\n'$modules$'\n' != *$'\n'"$namespace"$'\n'* ]]; then
    [ -z "$modules" ] || fail "the library holds the Python module ${modules//$'\n'/, }, which nothing imports: call it" \
        "TORCH_EXTENSION_NAME, as in PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)"
    printf '#define Py_LIMITED_API 3\n#define KERNEL_BUILDER_NAMESPACE_LINKED\n' >module.cpp
    printf '#include "%s"\nREGISTER_EXTENSION(%s)\n' "$registration" "$namespace" >>module.cpp
    symbols+=$'\n T kernel_builder_module'
fi

# The op namespace, for units that registration.h lets do without it.
if [[ $symbols == *kernel_builder_* ]]; then
    printf '__attribute__((visibility("hidden")%s)) const char kernel_builder_namespace[] = "%s";\n' \
        "${namespaceSection:+, section(\"$namespaceSection\")}" "$namespace"
    if has_module; then
        printf '__attribute__((visibility("hidden"))) void *kernel_builder_module(void);\n'
        printf 'void *PyInit_%s(void) { return kernel_builder_module(); }\n' "$namespace"
    fi
fi >namespace.c
