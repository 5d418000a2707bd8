#!/usr/bin/env python3
"""Prints the seconds from a saved edit of csrc/relu_cpu.cpp to a process that has loaded and called
the new build: of `kernel-builder build`, of `kernel-builder build --watch`, and of the CMake
project of `create-pyproject`. Not a test.

scripts/time-edit-loop.py PROGRAM PYTHON [ROUNDS]

PROGRAM is kernel-builder; PYTHON that of an environment of scripts/cmake-venv.sh, with torch 2.11,
the client, CMake and Ninja. NIX_REMOTE names the store, as in `make test`.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

VARIANT = "torch211-cxx11-cpu-x86_64-linux"
EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "relu"
SOURCE = "csrc/relu_cpu.cpp"

CALL = "import torch; print(relu.relu(torch.tensor([1.0])).item())"
BY_CLIENT = f"import pathlib, kernels; relu = kernels.get_local_kernel(pathlib.Path('.'), backend='cpu'); {CALL}"
BY_NAME = f"import relu; {CALL}"


def edit(kernel, number):
    """Makes relu multiply by a number."""
    text = (EXAMPLE / SOURCE).read_text()
    assert ": from[i];" in text
    (kernel / SOURCE).write_text(text.replace(": from[i];", f": from[i] * {number};"))


def check(python, kernel, program, number):
    """Loads the build in a new process, and calls it."""
    found = subprocess.run([python, "-c", program], cwd=kernel, check=True, capture_output=True, text=True).stdout
    if float(found) != number:
        sys.exit(f"an older build was loaded: {found.strip()} for {number}")


def rounds(number, python, kernel, program, build):
    """Seconds of some rounds; the first one, which builds all, does not count."""
    seconds = []
    for factor in range(2, number + 3):
        start = time.perf_counter()
        edit(kernel, factor)
        build()
        check(python, kernel, program, factor)
        seconds.append(time.perf_counter() - start)
    return seconds[1:]


def run(*command, cwd, env=None):
    subprocess.run(command, cwd=cwd, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def copy(folder):
    skip = shutil.ignore_patterns("build", "__pycache__")
    return Path(shutil.copytree(EXAMPLE, folder, ignore=skip))


def by_build(number, program, python, folder):
    kernel = copy(folder / "build")
    command = [program, "build", "--quiet", "--variant", VARIANT]
    return rounds(number, python, kernel, BY_CLIENT, lambda: run(*command, cwd=kernel))


def by_watch(number, program, python, folder):
    kernel = copy(folder / "watch")
    command = [program, "build", "--watch", "--variant", VARIANT]
    watch = subprocess.Popen(command, cwd=kernel, stderr=subprocess.PIPE, text=True)

    def wait():
        for line in watch.stderr:
            if line.startswith("waiting for a change"):
                return
        sys.exit("build --watch ended")

    wait()
    seconds = rounds(number, python, kernel, BY_CLIENT, wait)
    watch.terminate()
    watch.wait()
    return seconds


def by_pip(number, program, python, folder, command=None):
    kernel = copy(folder / ("pip" if command is None else "ninja"))
    run(program, "create-pyproject", cwd=kernel)
    path = f"{python.parent}:{os.environ['PATH']}"
    tools = {**os.environ, "PATH": path, "CMAKE_ARGS": "-DGPU_LANG=CPU"}
    install = [python, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--no-index", "-e", "."]
    run(*install, cwd=kernel, env=tools)
    seconds = rounds(number, python, kernel, BY_NAME, lambda: run(*command or install, cwd=kernel, env=tools))
    run(python, "-m", "pip", "uninstall", "--yes", "relu", cwd=kernel)
    return seconds


def by_ninja(number, program, python, folder):
    command = [python.parent / "cmake", "--build", "build/cmake/tree", "--target", "editable"]
    return by_pip(number, program, python, folder, command)


def main(program, python, number=5):
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
            seconds = loop(int(number), program, python, Path(folder))
            middle = statistics.median(seconds)
            print(f"| {name} | {middle:.1f} | {min(seconds):.1f} | {max(seconds):.1f} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
