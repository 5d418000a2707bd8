"""Loads a built kernel as `kernels.get_local_kernel` does for a user: load.py BUNDLE VARIANT
BACKEND.

There is no GPU. What cannot be imported because the machines of a backend have packages that are
not here is compiled, and the last line says so. Everything else that goes wrong fails.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

# Before the client asks torch.
import backend_of_torch  # noqa: F401

# Modules that come with a backend's own machines and drivers, and that no package index need have.
COME_WITH = {
    "cann": {"acl", "tbe", "te", "torch_npu", "triton"},
    "metal": {"mlx"},
    "neuron": {"jax", "libneuronxla", "neuronxcc", "nki", "torch_neuronx", "torch_xla"},
    "tpu": {"jax", "jaxlib", "libtpu", "torch_tpu", "torch_xla"},
}


def compile_all(folder):
    """Every Python file, also those that nothing imports."""
    wrong = 0
    files = sorted(folder.rglob("*.py"))
    for path in files:
        try:
            compile(path.read_bytes(), str(path.relative_to(folder)), "exec")
        except SyntaxError as error:
            wrong += 1
            print(f"{error.filename}:{error.lineno}:{error.offset}: {error.msg}\n    {(error.text or '').strip()}")
    if wrong:
        sys.exit(f"{wrong} of {len(files)} Python files have syntax errors")


def absent_dependencies(folder, backend):
    """The packages of general.python-depends that are not here."""
    from kernels._rust import Metadata
    from kernels.python_deps import _DEPENDENCY_DATA

    known = {**_DEPENDENCY_DATA.general, **_DEPENDENCY_DATA.backends.get(backend, {})}
    for name in Metadata.read_from_file(folder / "metadata.json").python_depends:
        packages = known[name].python if name in known else []
        yield from (package.pkg for package in packages if package.import_name and not find_spec(package.import_name))


def main(bundle, variant, backend):
    folder = bundle / variant
    compile_all(folder)
    if absent := sorted(absent_dependencies(folder, backend)):
        needed = " ".join(absent)
        print(f"not tried: importing it; it depends on {needed} (`kernel-builder pin-python {needed}`)")
        return

    from kernels import get_local_kernel

    try:
        kernel = get_local_kernel(bundle, backend=backend)
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in COME_WITH.get(backend, ()) or find_spec(module):
            raise
        print(f"not tried: importing it; {module} comes with machines for {backend} and is not here")
        return
    print("loaded", kernel.__name__)


main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
