#!/usr/bin/env python3
"""Measures `to-wheel` beside `python -m zipfile`, which compresses the same files, and checks and
hashes none of them.

time-wheel.py PROGRAM [MEGABYTES [ROUNDS]]

PROGRAM is kernel-builder as it is released. A made-up variant of Python alone holds eight files of
machine code (PROGRAM's own, over and over), 1000 MB together. Prints median times and sizes.
"""

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES = 8
METADATA = {
    "name": "large",
    "id": "_large_cpu_1",
    "version": 1,
    "license": "MIT",
    "python-depends": [],
    "backend": {"type": "cpu"},
}


def write_variant(folder, content, size):
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "metadata.json").write_text(json.dumps(METADATA))
    for number in range(FILES):
        # NB: each file begins elsewhere, so that none is the copy of another.
        pieces = itertools.cycle([content[number * 4096 :], content[: number * 4096]])
        with open(folder / f"data{number}.bin", "wb") as file:
            while file.tell() < size:
                file.write(next(pieces)[: size - file.tell()])


def seconds(command):
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def main(program, megabytes=1000, rounds=3):
    program = str(Path(program).resolve())
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        variant = work / "build" / "torch-cpu"
        write_variant(variant, Path(program).read_bytes(), int(megabytes) * 10**6 // FILES)
        subprocess.run([program, "hash", str(work)], check=True, stdout=subprocess.DEVNULL)
        os.sync()
        commands = {
            "python -m zipfile": [sys.executable, "-m", "zipfile", "-c", str(work / "large.zip"), str(variant)],
            "to-wheel": [program, "to-wheel", str(work), "--out", str(work / "dist")],
        }
        times = {name: [] for name in commands}
        for _ in range(int(rounds)):
            for name, command in commands.items():
                times[name].append(seconds(command))
        sizes = {"python -m zipfile": work / "large.zip", "to-wheel": next((work / "dist").glob("*.whl"))}
        for name, own in times.items():
            size = sizes[name].stat().st_size / 1e6
            print(f"{name}: median {statistics.median(own):.1f} s of {len(own)}, {size:.0f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:])
