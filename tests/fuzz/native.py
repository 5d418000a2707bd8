"""Judges changed copies of native files, as check-abi does, for some seconds.

native.py PROGRAM FOLDER SECONDS SEED SUFFIX

PROGRAM is nix/abi/program. FOLDER/seeds has good files; SUFFIX is that of their kind. A file for
which anything but findings comes is left at FOLDER/case.
"""

import contextlib
import random
import resource
import shutil
import signal
import struct
import sys
import time
from pathlib import Path

PROGRAM, FOLDER, SECONDS, SEED, SUFFIX = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
sys.path.insert(0, PROGRAM)
sys.argv = ["check.py", "."]
import check  # noqa: E402
import elf  # noqa: E402
from binary import MalformedFileError  # noqa: E402

LONGEST_CASE, MEMORY, LONGEST = 60, 64 << 20, 1 << 20
VARIANTS = ("torch211-cxx11-cpu-x86_64-linux", "torch211-cxx11-cu130-x86_64-linux", "none")
VARIANTS += ("torch-stable-abi211-cpu-x86_64-linux", "torch213-metal-aarch64-darwin")
NUMBERS = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF)


def small_elf():
    """A library with each table that is read, in 1 kB."""
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 0x400, 0x400, 0x1000)
    dynamic = struct.pack("<IIQQQQQQ", 2, 6, 0x100, 0x100, 0, 0xC0, 0xC0, 8)
    entries = [(1, 1), (4, 0x200), (5, 0x240), (6, 0x260), (10, 0x20), (7, 0x2C0), (8, 24), (0x6FFFFEF5, 0x300)]
    table = b"".join(struct.pack("<QQ", *entry) for entry in entries) + bytes(16)
    header = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    small = bytearray(0x400)
    for at, part in (
        (0, header + segment + dynamic),
        (0x100, table),
        (0x200, struct.pack("<IIIII", 1, 2, 1, 0, 0)),
        (0x240, b"\0libc.so.6\0free\0"),
        (0x278, struct.pack("<IBBHQQ", 11, 0x12, 0, 1, 0, 0)),
        (0x300, struct.pack("<IIIIQIII", 1, 1, 1, 0, 0, 1, 1, 0)),
    ):
        small[at : at + len(part)] = part
    return bytes(small)


def mach_o():
    """A library for macOS with each command that is read."""
    commands = [struct.pack("<IIIIII", 0x32, 24, 1, 0xF0000, 0, 0)]
    commands.append(struct.pack("<IIII", 0x24, 16, 0xF0000, 0))
    for kind, name in ((0xC, b"/usr/lib/libc++.1.dylib"), (0x8000001C, b"@loader_path")):
        name += bytes(8 - len(name) % 8)
        commands.append(struct.pack("<IIIIII", kind, 24 + len(name), 24, 0, 0, 0) + name)
    size = sum(map(len, commands)) + 24
    symbols = struct.pack("<IBBHQ", 1, 1, 0, 0, 0) * 3
    commands.append(struct.pack("<IIIIII", 2, 24, 32 + size, 3, 32 + size + len(symbols), 16))
    header = struct.pack("<IIIIIIII", 0xFEEDFACF, 0x0100000C, 0, 6, len(commands), size, 0, 0)
    return header + b"".join(commands) + symbols + b"\0_PyList_New\0\0\0\0"


def mach_o_for_two():
    """A file with a library for each of two processors."""
    part = mach_o()
    header = struct.pack(">II", 0xCAFEBABE, 2)
    places = [struct.pack(">IIIII", 0x0100000C, 0, 64 + len(part) * number, len(part), 0) for number in range(2)]
    return (header + b"".join(places)).ljust(64, b"\0") + part * 2


def window():
    """A library for Windows that imports a name of Python."""
    data = bytearray(0x400)
    data[:2], data[60:64] = b"MZ", struct.pack("<I", 64)
    data[64:88] = b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, 240, 0x2022)
    data[88:90], data[208:212] = struct.pack("<H", 0x20B), struct.pack("<I", 0x1000)
    data[336:352] = struct.pack("<IIII", 0x200, 0x1000, 0x200, 0x200)
    data[0x200:0x214] = struct.pack("<IIIII", 0x1040, 0, 0, 0x1060, 0x1040)
    data[0x240:0x248] = struct.pack("<Q", 0x1080)
    data[0x260:0x26C] = b"python3.dll\0"
    data[0x280:0x28E] = b"\0\0PyList_New\0\0"
    return bytes(data)


def change(data, seeds):
    """Changes some bytes, numbers or spans of a file."""
    for _ in range(random.choice((1, 1, 2, 4, 8))):
        region = random.choice((256, len(data), len(data)))
        at = random.randrange(max(1, min(region, len(data))))
        end = min(len(data), at + random.randrange(1, 64))
        kind = random.randrange(8)
        if kind == 0:
            data[at : at + 1] = bytes([random.randrange(256)])
        elif kind in (1, 2, 3):
            width = random.choice((2, 4, 8))
            number = random.choice((*NUMBERS, len(data), at))
            order = "big" if data[5:6] == b"\2" or data[:1] == b"\xca" else "little"
            data[at : at + width] = (number & (1 << 8 * width) - 1).to_bytes(width, order)
        elif kind == 4:
            data[at:end] = data[at:end] * random.choice((2, 50))
        elif kind == 5:
            del data[at:end]
        elif kind == 6:
            other = random.choice(seeds)
            place = random.randrange(len(other))
            data[at:end] = other[place : place + end - at]
        elif random.random() < 0.3:
            del data[at:]
    return data[:LONGEST]


def status(name):
    """A number of bytes that the kernel has about this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))


def read(path, checker):
    """Judges a file; returns whether a loader would read it."""
    findings, kind = checker.check(path)
    if path.suffix == ".so" and kind == "elf":
        with contextlib.suppress(MalformedFileError):
            elf.ElfFile(path.read_bytes()).undefined_in_object()
    return all(finding.rule != "malformed-file" for finding in findings)


def stop(_signal, _frame):
    raise TimeoutError(f"a case has taken more than {LONGEST_CASE} s")


def main():
    made = {".so": [small_elf()], ".dylib": [mach_o(), mach_o_for_two()], ".pyd": [window()]}[SUFFIX]
    seeds = made + [file.read_bytes() for file in sorted((FOLDER / "seeds").iterdir())]
    paths = [FOLDER / variant / f"case{form}{SUFFIX}" for variant in VARIANTS for form in ("", ".abi3")]
    checker = check.Checker(check.parse_options())
    # Time of the processor: other programs may have it meanwhile.
    signal.signal(signal.SIGPROF, stop)
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        for seed in seeds:
            path.write_bytes(seed)
            if not read(path, checker):
                sys.exit(f"a seed is refused: {seed[:64]!r}")
    most = status("VmData") + MEMORY + LONGEST
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    random.seed(SEED)
    cases, good, slowest = 0, 0, 0.0
    end = time.monotonic() + SECONDS
    while time.monotonic() < end or not cases:
        path = random.choice(paths)
        path.write_bytes(change(bytearray(random.choice(seeds)), seeds))
        before = time.monotonic()
        signal.setitimer(signal.ITIMER_PROF, LONGEST_CASE)
        try:
            good += read(path, checker)
        except BaseException:
            shutil.copy(path, FOLDER / "case")
            raise
        signal.setitimer(signal.ITIMER_PROF, 0)
        slowest = max(slowest, time.monotonic() - before)
        cases += 1
    peak = status("VmHWM") >> 10
    print(f"{cases} cases, {good} good, the slowest {slowest * 1000:.0f} ms, at most {peak} kB of memory")


main()
