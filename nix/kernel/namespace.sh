# Sourced by link.sh and link-macos.sh: what torch's registration.h leaves to the link -> namespace.c.
# NB: no `nm | grep -q`: with pipefail, nm ended by the closed pipe is a failure.
symbols=$(nm "${objects[@]}")
if [[ $symbols == *kernel_builder_* ]]; then
    printf '__attribute__((visibility("hidden"))) const char kernel_builder_namespace[] = "%s";\n' "$namespace"
    # macOS puts an underscore before every name.
    if [[ $symbols == *' T kernel_builder_module'* || $symbols == *' T _kernel_builder_module'* ]]; then
        printf '__attribute__((visibility("hidden"))) void *kernel_builder_module(void);\n'
        printf 'void *PyInit_%s(void) { return kernel_builder_module(); }\n' "$namespace"
    fi
fi >namespace.c
