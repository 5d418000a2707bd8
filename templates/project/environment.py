"""Prints, as JSON, the framework that this Python has and the device that the framework is made for. Without a
framework it exits with 1 and a line that says how to get one."""

import json
import platform
import re
import shutil
import sys
import sysconfig
from pathlib import Path


def torch_device(torch):
    """The backend of a torch, the toolkit it was built with, and the capabilities of the GPUs that it sees."""
    if torch.version.cuda:
        gpus = range(torch.cuda.device_count()) if torch.cuda.is_available() else ()
        capabilities = {torch.cuda.get_device_capability(gpu) for gpu in gpus}
        return "cuda", torch.version.cuda, sorted(f"{major}.{minor}" for major, minor in capabilities)
    if torch.version.hip:
        gpus = range(torch.cuda.device_count()) if torch.cuda.is_available() else ()
        names = {torch.cuda.get_device_properties(gpu).gcnArchName.partition(":")[0] for gpu in gpus}
        return "rocm", torch.version.hip, sorted(names)
    if torch.backends.mps.is_available():
        return "metal", "", []
    if getattr(torch.version, "xpu", None):
        # 20250301 is of oneAPI 2025.3.
        return "xpu", f"{torch.version.xpu[:4]}.{int(torch.version.xpu[4:6])}", []
    return "cpu", "", []


def minor_release(version):
    """Major and minor of a version: 2.11 of 2.11.0+cu130."""
    found = re.match(r"\d+\.\d+", version)
    return found[0] if found else version


def torch_environment():
    try:
        import torch
    except ImportError as error:
        sys.exit(f"{sys.executable} has no torch ({error}): install it, or name a Python with -DPython3_EXECUTABLE=")
    root = Path(torch.__file__).parent
    backend, toolkit, capabilities = torch_device(torch)
    return {
        "version": minor_release(torch.__version__),
        "backend": backend,
        "toolkit": minor_release(toolkit),
        "capabilities": capabilities,
        "cxx-abi": "cxx11" if torch.compiled_with_cxx11_abi() else "cxx98",
        "include": [str(root / "include"), str(root / "include/torch/csrc/api/include")],
        "libraries": [str(root / "lib")],
    }


def tvm_ffi_environment():
    try:
        import tvm_ffi
    except ImportError as error:
        sys.exit(f"{sys.executable} has no tvm_ffi ({error}): `pip install apache-tvm-ffi`")
    try:
        import torch

        backend, toolkit, capabilities = torch_device(torch)
    except ImportError:
        backend, toolkit, capabilities = ("cuda" if shutil.which("nvcc") else "cpu"), "", []
    root = Path(tvm_ffi.__file__).parent
    return {
        "version": minor_release(tvm_ffi.__version__),
        "backend": backend,
        "toolkit": minor_release(toolkit),
        "capabilities": capabilities,
        "cxx-abi": "",
        "include": [str(root / "include")],
        "libraries": [str(root / "lib")],
    }


def environment(framework):
    """The facts of a framework, `torch` or `tvm-ffi`, and of this machine."""
    facts = tvm_ffi_environment() if framework == "tvm-ffi" else torch_environment()
    machine = platform.machine().lower()
    facts["cpu"] = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    facts["os"] = platform.system().lower()
    facts["python-include"] = sysconfig.get_path("include")
    return facts


if __name__ == "__main__":
    print(json.dumps(environment(sys.argv[1])))
