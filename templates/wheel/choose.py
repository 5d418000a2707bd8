"""Chooses one of the variants of a kernel in a wheel, as the `kernels` client does.

Written by `kernel-builder to-wheel`. A variant is a folder of this package, such as
torch211_cxx11_cu130_x86_64_linux: the variant's name with underscores.
"""

import importlib.util
import platform
import re
from pathlib import Path

ARCH = r"(?P<backend>[a-z]+)(?P<toolkit>\d*)_(?P<cpu>x86_64|aarch64)_(?P<os>linux|darwin|windows)"
STABLE = re.compile(r"torch_stable_abi(?P<major>\d)(?P<minor>\d+)_" + ARCH)
TORCH = re.compile(r"torch(?P<major>\d)(?P<minor>\d+)(?:_(?P<abi>cxx11|cxx98))?_" + ARCH)
TVM_FFI = re.compile(r"tvm_ffi(?P<major>\d)(?P<minor>\d+)_" + ARCH)
PYTHON = re.compile(r"torch_(?P<backend>[a-z]+)")
CPUS = {"amd64": "x86_64", "arm64": "aarch64"}
# Words of variants' names for a backend that `Machine.backend` calls by another one.
KINDS = {"cuda": "cu", "npu": "cann"}


class Machine:
    """The facts of this machine and its Python that decide."""

    def __init__(self):
        cpu = platform.machine().lower()
        self.cpu = CPUS.get(cpu, cpu)
        self.os = platform.system().lower()
        self.torch = self.tvm_ffi = self.cxx11 = None
        try:
            import torch
        except ImportError:
            self.backend, self.toolkit = cuda_of_machine()
        else:
            self.torch = pair(torch.__version__)
            if self.os == "linux":
                self.cxx11 = torch.compiled_with_cxx11_abi()
            self.backend, self.toolkit = backend_of(torch)
        try:
            import tvm_ffi
        except ImportError:
            pass
        else:
            self.tvm_ffi = pair(tvm_ffi.__version__)

    def refusal(self, name):
        """The reason why a variant cannot be used here, or None."""
        match = PYTHON.fullmatch(name)
        if match:
            kind = match["backend"]
            fits = KINDS.get(kind, kind) == self.backend or kind == "universal"
            return None if fits else f"it is for {kind}"
        match = STABLE.fullmatch(name) or TORCH.fullmatch(name) or TVM_FFI.fullmatch(name)
        if not match:
            return "its name has no known form"
        if (match["cpu"], match["os"]) != (self.cpu, self.os):
            return f"it is for {match['cpu']}-{match['os']}"
        version = int(match["major"]), int(match["minor"])
        words = f"{version[0]}.{version[1]}"
        if match.re is STABLE and (self.torch is None or version > self.torch):
            return f"it needs torch {words} or later"
        if match.re is TVM_FFI and version != self.tvm_ffi:
            return f"it is for tvm-ffi {words}"
        if match.re is TORCH and version != self.torch:
            return f"it is for torch {words}"
        if match.re is TORCH and match["abi"] and (match["abi"] == "cxx11") != self.cxx11:
            return "it is for the other C++ ABI of torch"
        backend, toolkit = match["backend"], match["toolkit"]
        fits = backend == self.backend and toolkit == self.toolkit
        if backend == self.backend == "cu":
            # Later releases of the same major version run code of an earlier one.
            fits = toolkit[:-1] == self.toolkit[:-1] and int(toolkit[-1]) <= int(self.toolkit[-1])
        return None if fits else f"it is for {backend}{toolkit}"

    def choose(self, names):
        """The best variant for this machine.

        A kernel without any code for the backend of torch here is one for CPUs, which every
        torch can load.
        """
        kinds = {backend_in(name) for name in names}
        if self.backend not in kinds and "universal" not in kinds:
            self.backend, self.toolkit = "cpu", ""
        refusals = {name: self.refusal(name) for name in sorted(names)}
        fitting = [name for name, refusal in refusals.items() if refusal is None]
        if fitting:
            return min(fitting, key=preference)
        reasons = "".join(f"\n  {name}: {refusal}" for name, refusal in refusals.items())
        raise ImportError(f"this wheel has no variant for {self}:{reasons}")

    def __str__(self):
        torch = "no torch" if self.torch is None else f"torch {self.torch[0]}.{self.torch[1]}"
        return f"{torch} with {self.backend}{self.toolkit} on {self.cpu}-{self.os}"


def preference(name):
    """Sorts variants that fit: the best first."""
    match = STABLE.fullmatch(name)
    if match:
        return 0, -int(match["major"]), -int(match["minor"]), -int(match["toolkit"][-1:] or 0), name
    match = TORCH.fullmatch(name)
    if match:
        return 1, match["abi"] is not None, 0, -int(match["toolkit"][-1:] or 0), name
    match = TVM_FFI.fullmatch(name)
    minor = int(match["toolkit"][-1:] or 0) if match else 0
    return 2, name == "torch_universal", 0, -minor, name


def backend_in(name):
    """The backend that a variant is for, in the words of `Machine.backend`."""
    for pattern in (STABLE, TORCH, TVM_FFI, PYTHON):
        match = pattern.fullmatch(name)
        if match:
            return KINDS.get(match["backend"], match["backend"])
    return None


def pair(version):
    """Major and minor version."""
    major, minor = re.match(r"(\d+)\.(\d+)", version).groups()
    return int(major), int(minor)


def flat(version):
    return "".join(str(part) for part in pair(version))


def backend_of(torch):
    """The backend and the toolkit that a torch is made for, as variants' names have them."""
    if hasattr(torch.backends, "tpu"):
        return "tpu", ""
    if hasattr(torch, "neuron"):
        return "neuron", ""
    if torch.version.cuda:
        return "cu", flat(torch.version.cuda)
    if torch.version.hip:
        return "rocm", flat(torch.version.hip)
    if torch.backends.mps.is_available():
        return "metal", ""
    xpu = getattr(torch.version, "xpu", None)
    if xpu:
        return "xpu", xpu[:4] + xpu[5:6]
    if getattr(torch._C, "_get_privateuse1_backend_name", str)() == "npu":
        from torch_npu.utils.collect_env import get_cann_version

        return "cann", flat(get_cann_version())
    return "cpu", ""


def cuda_of_machine():
    """The backend and the toolkit without torch: CUDA if its runtime is there."""
    import ctypes
    import ctypes.util

    version = ctypes.c_int(0)
    try:
        ctypes.CDLL(ctypes.util.find_library("cudart") or "").cudaRuntimeGetVersion(ctypes.byref(version))
    except (AttributeError, OSError):
        return "cpu", ""
    if not version.value:
        return "cpu", ""
    return "cu", f"{version.value // 1000}{version.value % 1000 // 10}"


def take_place(module):
    """Runs the package of the best variant as `module`, whose files are then those of the variant."""
    package = Path(__file__).resolve().parent
    folders = {file.parent.name: file.parent for file in package.glob("*/metadata.json")}
    folder = folders[Machine().choose(folders)]
    if not (folder / "__init__.py").is_file():
        folder = folder / package.name
    file = str(folder / "__init__.py")
    spec = importlib.util.spec_from_file_location(module.__name__, file, submodule_search_locations=[str(folder)])
    module.__spec__, module.__loader__ = spec, spec.loader
    module.__file__, module.__path__ = file, spec.submodule_search_locations
    spec.loader.exec_module(module)
