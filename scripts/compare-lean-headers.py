"""Compares objects of sources that are compiled with all of torch's headers and with lean ones.

    PYTHON scripts/compare-lean-headers.py [--seconds N] [--json FILE] PROJECT...

PYTHON is one that has torch; g++, objdump and, for .cu files, nvcc and cuobjdump are of the PATH.
PROJECT is a folder, such as an unpacked source distribution: every folder of its headers is
searched. No source is chosen beforehand, and many projects need flags that nobody gives here, so
units that do not compile in either way are counted alone. Not a test; docs/measurements has
results. The outcome of a unit that includes an umbrella header of torch is one of:

    same       the objects have the same code (tests/fixtures/lean/compare.py), and the times count
    differs    they do not
    full       the selection gives the unit all headers beforehand
    fallback   it compiles with torch's own headers alone
    neither    it does not compile
"""

import argparse
import collections
import importlib.util
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
COMPARE = REPOSITORY / "tests/fixtures/lean/compare.py"
HEADERS = (".h", ".cuh", ".hpp", ".hh", ".inl")
SOURCES = (".cpp", ".cc", ".cu")
# Host code without optimization, as in tests/lean.rs: then it depends on the meaning alone.
FLAGS = ["-std=c++17", "-w", "-DTORCH_EXTENSION_NAME=ext"]
GXX = ["g++", "-O0", "-fPIC", "-fnon-call-exceptions"]
NVCC = ["nvcc", "-gencode", "arch=compute_90,code=sm_90", "--no-compress", "-Xcompiler"]
NVCC += ["-fPIC,-fnon-call-exceptions,-w", "--expt-relaxed-constexpr", "--expt-extended-lambda"]


def load_lean(folder):
    """templates/project/lean.py beside its script, as in a CMake project."""
    shutil.copy(REPOSITORY / "templates/lean-headers/select.awk", folder / "lean_select.awk")
    program = shutil.copy(REPOSITORY / "templates/project/lean.py", folder / "lean.py")
    spec = importlib.util.spec_from_file_location("lean", program)
    lean = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lean)
    return lean


def folders_of_headers(project):
    """The folders that hold headers and those above them, the outer ones first."""
    found = {project}
    for header in project.rglob("*"):
        if header.suffix in HEADERS:
            found.update(folder for folder in header.parents if project in folder.parents)
    return sorted(found, key=lambda folder: (len(folder.parts), folder))


def timed(command):
    """The status and words of a command, its CPU seconds, and the MB of its largest process."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    words = process.stdout.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, words, usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024


class Comparison:
    """Lean headers of the machine's torch, and the flags of every unit."""

    def __init__(self, scratch, deadline):
        self.scratch = scratch
        self.deadline = deadline
        self.lean = load_lean(scratch)
        torch = Path(importlib.util.find_spec("torch").origin).parent / "include"
        torch_folders = [torch, torch / "torch/csrc/api/include"]
        self.headers = scratch / "headers"
        make = REPOSITORY / "templates/lean-headers/make.py"
        subprocess.run([sys.executable, make, *torch_folders, self.headers], check=True)
        system = [*torch_folders, sysconfig.get_path("include")]
        if nvcc := shutil.which("nvcc"):
            system.append(Path(nvcc).resolve().parent.parent / "include")
        self.flags = FLAGS + [word for folder in system for word in ("-isystem", str(folder))]

    def unit(self, number, source, folders):
        """The outcome of a unit, as a dictionary; `None` if it includes no umbrella header."""
        if time.monotonic() > self.deadline:
            return {"outcome": "not begun"}
        scratch = self.scratch / str(number)
        scratch.mkdir()
        try:
            return self._compare(scratch, source, folders)
        finally:
            shutil.rmtree(scratch)

    def _compare(self, scratch, source, folders):
        full, lean = scratch / "full.o", scratch / "lean.o"
        start = NVCC if source.suffix == ".cu" else GXX
        command = [*start, *(f"-I{folder}" for folder in folders), *self.flags, "-c", str(source), "-o"]
        arguments = [*command, str(lean)]
        selected, reason = self.lean.select(self.headers, self.lean.Unit(arguments, scratch, []), arguments)
        if not selected:
            return {"outcome": "full", "reason": reason} if reason else None
        search = ["-DAT_PER_OPERATOR_HEADERS", "-isystem", selected, "-isystem", self.headers / "include"]
        lean_status, lean_words, *lean_cost = timed([command[0], *search, *command[1:], lean])
        full_status, _, *full_cost = timed([*command, full])
        if full_status != 0:
            return {"outcome": "neither"}
        if lean_status != 0:
            errors = filter(self.lean.ERROR.search, lean_words.splitlines())
            return {"outcome": "fallback", "reason": next(errors, lean_words[-200:])}
        result = subprocess.run([sys.executable, COMPARE, full, lean], capture_output=True, text=True)
        outcome = {"outcome": "same"} if result.returncode == 0 else {"outcome": "differs", "reason": result.stdout}
        return outcome | {"full": full_cost, "lean": lean_cost}


def show(results):
    """Counts and ratios, by the kind of source."""
    for kind, suffixes in (("C++", (".cpp", ".cc")), ("CUDA", (".cu",))):
        found = [result for result in results if result["source"].endswith(suffixes)]
        counts = collections.Counter(result["outcome"] for result in found)
        print(f"{kind}:", ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()) or "no unit")
        pairs = [(result["full"], result["lean"]) for result in found if "lean" in result]
        if not pairs:
            continue
        ratios = sorted(full[0] / lean[0] for full, lean in pairs)
        whole, part = (sum(pair[i][0] for pair in pairs) for i in (0, 1))
        middle = statistics.median(ratios)
        print(f"  full ÷ lean: lowest {ratios[0]:.2f}, median {middle:.2f}, highest {ratios[-1]:.2f}")
        print(f"  all together: {whole:.0f} and {part:.0f} s of CPU, {whole / part:.2f} times")
        memory = [statistics.median(pair[i][1] for pair in pairs) for i in (0, 1)]
        print(f"  median of memory: {memory[0]:.0f} and {memory[1]:.0f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no unit after this time")
    parser.add_argument("--json", type=Path, help="write what became of each unit to this file")
    parser.add_argument("projects", type=Path, nargs="+")
    options = parser.parse_args()
    units = []
    for project in map(Path.resolve, options.projects):
        folders = folders_of_headers(project)
        sources = sorted(path for path in project.rglob("*") if path.suffix in SOURCES)
        if not shutil.which("nvcc"):
            left_out = [source for source in sources if source.suffix == ".cu"]
            sources = [source for source in sources if source.suffix != ".cu"]
            if left_out:
                print(f"left out: {len(left_out)} .cu files of {project.name}: there is no nvcc")
        # Some of each project, if the time is short.
        random.Random(1).shuffle(sources)
        units += [(place, source, folders) for place, source in enumerate(sources)]
    units.sort(key=lambda unit: unit[0])
    results = []
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(os.cpu_count()) as executor:
        comparison = Comparison(Path(scratch), time.monotonic() + options.seconds)
        futures = [executor.submit(comparison.unit, at, *unit[1:]) for at, unit in enumerate(units)]
        for (_, source, _), future in zip(units, futures):
            result = future.result()
            if result is None:
                continue
            results.append({"source": str(source), **result})
            if result["outcome"] not in ("same", "not begun"):
                print(f"{result['outcome']} {source}: {result.get('reason', '')}".rstrip(": \n"), flush=True)
    show(results)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
