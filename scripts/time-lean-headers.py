"""Prints the cost of a unit with all of torch's headers and with lean ones: CPU seconds and memory.

    scripts/time-lean-headers.py

Each unit is built by Nix, in parts if it has several architectures: fully, then leanly. Not a test;
docs/benchmarks.md has the numbers. It fetches the toolchains of its variants, and takes some ten
minutes.
"""

import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
CARGO = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
TARGET = json.loads(subprocess.check_output(CARGO, cwd=REPOSITORY))["target_directory"]
PROGRAM = Path(TARGET) / "debug/kernel-builder"
FIXTURES = REPOSITORY / "tests/fixtures"
NVCC = "torch211-cxx11-cu130-x86_64-linux"
CLANG = "torch210-cxx11-cu128-x86_64-linux"
ARCHS = {
    1: ["9.0"],
    3: ["8.0", "9.0", "10.0"],
    10: ["7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "9.0a", "10.0", "10.3", "12.0"],
}
# Variant, source, number of architectures.
ROWS = [
    (NVCC, "torch-ext/binding.cpp", 1),
    (NVCC, "csrc/relu.cu", 1),
    (NVCC, "csrc/relu.cu", 3),
    (NVCC, "csrc/relu.cu", 10),
    (NVCC, "csrc/sort.cu", 1),
    (NVCC, "csrc/gemm.cu", 1),
    (CLANG, "csrc/relu.cu", 1),
    (CLANG, "csrc/relu.cu", 3),
    (CLANG, "csrc/relu.cu", 10),
    (CLANG, "csrc/sort.cu", 1),
]
# The start of a matrix product that takes tensors, as published ones do.
GEMM = "#include <torch/all.h>\n#include <ATen/cuda/CUDAContext.h>\n"


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True)


def write_kernel(folder, archs, lean):
    """The fixture, with a matrix product of CUTLASS. No text is that of an earlier run."""
    shutil.copytree(FIXTURES / "umbrella", folder, dirs_exist_ok=True)
    shutil.copy(FIXTURES / "cutlass/csrc/gemm_sm90.cu", folder / "csrc/gemm.cu")
    for source in [*folder.glob("csrc/*"), folder / "torch-ext/binding.cpp"]:
        start = GEMM if source.name == "gemm.cu" else ""
        source.write_text(f"// {time.time()}\n{start}{source.read_text()}")
    manifest = folder / "build.toml"
    text = manifest.read_text().replace('"csrc/sort.cu"]', '"csrc/sort.cu", "csrc/gemm.cu"]')
    text = text.replace('depends = ["torch"]', 'depends = ["torch", "cutlass_4_0"]')
    text = re.sub("cuda-capabilities = .*", f"cuda-capabilities = {json.dumps(archs)}", text)
    if not lean:
        text = text.replace("src = [", "lean-headers = false\nsrc = [")
    manifest.write_text(text + 'cuda-flags = ["--expt-relaxed-constexpr"]\n')


def steps_of_unit(folder, variant, source):
    """The derivations that make the object of a unit, and the others that they need."""
    run(PROGRAM, "fetch", folder, "--variant", variant)
    steps = json.loads(run(PROGRAM, "graph", folder, "--variant", variant, "--json").stdout)["steps"]
    unit = [step["derivation"] for step in steps if step.get("source") == source]
    return unit, [step["derivation"] for step in steps if step["kind"] == "toolchain"]


def realise(derivations):
    command = ["nix-store", "--realise", "--max-jobs", "2", "--cores", "1", "--option", "sandbox", "true"]
    return run(*command, "--option", "substituters", "", *derivations).stderr


def measure(variant, source, count, lean):
    """CPU seconds and the largest memory of a process in MB."""
    archs = ["9.0a"] if source.endswith("gemm.cu") else ARCHS[count]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "kernel"
        write_kernel(folder, archs, lean)
        unit, needs = steps_of_unit(folder, variant, source)
        assert unit, source
        realise(needs)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        log = realise(unit)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert not lean or "torch's own headers" not in log, f"{source} is not compiled leanly: {log}"
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peaks = [int(kilobytes) for kilobytes in re.findall(r"peak memory in kB: (\d+)", log)]
    return seconds, max(peaks) // 1024


def main():
    os.environ.setdefault("NIX_REMOTE", str(REPOSITORY / "target/nix-store"))
    # As in scripts/single-user.sh.
    os.environ["NIX_CONFIG"] = os.environ.get("NIX_CONFIG", "") + "\nbuild-users-group ="
    run("cargo", "build", "--quiet", "--manifest-path", REPOSITORY / "Cargo.toml")
    print("| unit | compilers | architectures | full: s of CPU | MB | lean: s of CPU | MB | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for variant, source, count in ROWS:
        full, lean = (measure(variant, source, count, lean) for lean in (False, True))
        compilers = "g++" if source.endswith(".cpp") else "nvcc 13.0" if variant == NVCC else "clang, CUDA 12.8"
        cells = [Path(source).name, compilers, "-" if source.endswith(".cpp") else count]
        for seconds, megabytes in (full, lean):
            cells += [f"{seconds:.1f}", megabytes]
        print("|", *(f"{cell} |" for cell in [*cells, f"{full[0] / lean[0]:.1f}"]), flush=True)


if __name__ == "__main__":
    main()
