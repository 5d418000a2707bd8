#!/usr/bin/env python3
"""Prints the seconds from a saved edit of csrc/relu_cpu.cpp, or of csrc/relu_cuda.cu, to a process
that has loaded and called the new build: of `kernel-builder build`, of `kernel-builder build
--watch`, and of the CMake project of `create-pyproject`. Not a test.

scripts/time-edit-loop.py PROGRAM PYTHON [ROUNDS [NVCC]]

PROGRAM is kernel-builder; PYTHON that of an environment of scripts/cmake-venv.sh, with torch 2.11,
the client, CMake and Ninja. NIX_REMOTE names the store, as in `make test`. With NVCC of CUDA 13.0,
such as target/cuda-13.0-wheels/nvidia/cu13/bin/nvcc of tests/project, the edit is that of the .cu:
it is compiled for every GPU of the kernel, and on a machine without a GPU loaded and not called.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "relu"


@dataclass(frozen=True)
class Device:
    """The source that is edited, and the variant that is built."""

    backend: str
    variant: str
    source: str
    # The line that an edit replaces, and the edit that makes relu multiply by a number.
    line: str
    edit: str
    cmake: str
    # CMake's environment.
    variables: dict


CPU = Device(
    backend="cpu",
    variant="torch211-cxx11-cpu-x86_64-linux",
    source="csrc/relu_cpu.cpp",
    line=": from[i];",
    edit=": from[i] * {};",
    cmake="-DGPU_LANG=CPU",
    variables={},
)
CUDA = Device(
    backend="cuda",
    variant="torch211-cxx11-cu130-x86_64-linux",
    source="csrc/relu_cuda.cu",
    line="return is_negative(x) ? T{} : x;",
    edit="return is_negative(x) ? T{{}} : static_cast<T>(x * static_cast<T>({}.0f));",
    cmake="-DGPU_LANG=CUDA -DBUILD_ALL_SUPPORTED_ARCHS=ON",
    variables={},
)

# The result of the call, and the digest of the library that was loaded.
CALL = """
import hashlib, os, pathlib, torch
device = sys.argv[1]
can_call = device == "cpu" or torch.cuda.is_available()
print(relu.relu(torch.tensor([1.0], device=device)).item() if can_call else "none")
loaded = {line.split()[-1] for line in open("/proc/self/maps")}
(library,) = (path for path in loaded if os.path.basename(path).startswith("_relu_"))
print(hashlib.sha256(pathlib.Path(library).read_bytes()).hexdigest())
"""
BY_CLIENT = f"""
import pathlib, sys, kernels
relu = kernels.get_local_kernel(pathlib.Path("."), backend=sys.argv[1])
{CALL}"""
BY_NAME = f"import sys, relu\n{CALL}"


def edit(device, kernel, number):
    """Makes relu multiply by a number."""
    text = (EXAMPLE / device.source).read_text()
    assert device.line in text
    # NB: the store would have the object of an edit that was made before.
    new = f"// {time.time_ns()}\n"
    (kernel / device.source).write_text(text.replace(device.line, device.edit.format(number)) + new)


def load(device, python, kernel, program, number):
    """Loads the build in a new process, and calls it if there is such a device. Returns the digest
    of its library."""
    command = [python, "-c", program, device.backend]
    found = subprocess.run(command, cwd=kernel, check=True, capture_output=True, text=True).stdout
    result, digest = found.split()
    if result != "none" and float(result) != number:
        sys.exit(f"an older build was loaded: {result} for {number}")
    return digest


def rounds(device, number, python, kernel, program, build):
    """Seconds of some rounds; the first one, which builds all, does not count."""
    seconds = []
    digests = set()
    for factor in range(2, number + 3):
        start = time.perf_counter()
        edit(device, kernel, factor)
        build()
        digests.add(load(device, python, kernel, program, factor))
        seconds.append(time.perf_counter() - start)
    if len(digests) != len(seconds):
        sys.exit("an older build was loaded")
    return seconds[1:]


def run(*command, cwd, env=None):
    subprocess.run(command, cwd=cwd, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def copy(folder):
    skip = shutil.ignore_patterns("build", "__pycache__")
    return Path(shutil.copytree(EXAMPLE, folder, ignore=skip))


def by_build(device, number, program, python, folder):
    kernel = copy(folder / "build")
    command = [program, "build", "--quiet", "--variant", device.variant]
    return rounds(device, number, python, kernel, BY_CLIENT, lambda: run(*command, cwd=kernel))


def by_watch(device, number, program, python, folder):
    kernel = copy(folder / "watch")
    command = [program, "build", "--watch", "--variant", device.variant]
    watch = subprocess.Popen(command, cwd=kernel, stderr=subprocess.PIPE, text=True)

    def wait():
        for line in watch.stderr:
            if line.startswith("waiting for a change"):
                return
        sys.exit("build --watch ended")

    wait()
    seconds = rounds(device, number, python, kernel, BY_CLIENT, wait)
    watch.terminate()
    watch.wait()
    return seconds


def by_pip(device, number, program, python, folder, command=None):
    kernel = copy(folder / ("pip" if command is None else "ninja"))
    run(program, "create-pyproject", cwd=kernel)
    path = f"{python.parent}:{os.environ['PATH']}"
    tools = {**os.environ, "PATH": path, "CMAKE_ARGS": device.cmake, **device.variables}
    install = [python, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--no-index", "-e", "."]
    run(*install, cwd=kernel, env=tools)
    seconds = rounds(device, number, python, kernel, BY_NAME, lambda: run(*command or install, cwd=kernel, env=tools))
    run(python, "-m", "pip", "uninstall", "--yes", "relu", cwd=kernel)
    return seconds


def by_ninja(device, number, program, python, folder):
    command = [python.parent / "cmake", "--build", "build/cmake/tree", "--target", "editable"]
    return by_pip(device, number, program, python, folder, command)


def main(program, python, number=5, nvcc=None):
    device = CPU if nvcc is None else replace(CUDA, variables={"CUDACXX": str(Path(nvcc).resolve())})
    program, python = Path(program).resolve(), Path(python).absolute()
    print("| loop | seconds, median | fastest | slowest |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        loops = {
            "`kernel-builder build`": by_build,
            "`kernel-builder build --watch`": by_watch,
            "`pip install -e .` of the CMake project, with Ninja": by_pip,
            "`cmake --build build/cmake/tree --target editable` of it": by_ninja,
        }
        for name, loop in loops.items():
            seconds = loop(device, int(number), program, python, Path(folder))
            middle = statistics.median(seconds)
            print(f"| {name} | {middle:.1f} | {min(seconds):.1f} | {max(seconds):.1f} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
