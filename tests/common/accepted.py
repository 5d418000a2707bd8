"""The variants that the kernels client accepts, in its order: accepted.py "NAME ..." MACHINE... ->
JSON lists."""

import json
import sys

from kernels.backends import CANN, CPU, CUDA, XPU, Metal, ROCm
from kernels.variants import _resolve_variant_for_system, parse_variant
from packaging.version import Version

BACKENDS = {"cann": CANN, "cpu": CPU, "cuda": CUDA, "metal": Metal, "rocm": ROCm, "xpu": XPU}


def accepted(variants, machine):
    backend, *words = machine.split()
    version = [Version(words.pop(0))] if words[0][0].isdigit() else []
    cpu, os = words.pop(0).split("-")
    installed = {name: Version(number) for name, number in zip(words[::2], words[1::2], strict=True)}
    found, _ = _resolve_variant_for_system(
        variants=variants,
        selected_backend=BACKENDS[backend](*version),
        cpu=cpu,
        os=os,
        torch_version=installed.get("torch"),
        torch_cxx11_abi="abi" not in installed if os == "linux" else None,
        tvm_ffi_version=installed.get("tvm-ffi"),
        macos_version=installed.get("macos"),
    )
    return [variant.variant_str for variant in found]


variants = [parse_variant(name) for name in sys.argv[1].split()]
print(json.dumps([accepted(variants, machine) for machine in sys.argv[2:]]))
