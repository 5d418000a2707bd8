"""Let `import torch` from a CUDA wheel work on a machine that has none of NVIDIA's libraries. For
CPU tests only.

torch's own libraries name some ten NVIDIA libraries (two gigabytes) that they load even when no GPU
is used. This script builds a stand-in of a few kilobytes for each: same soname, same symbols, same
symbol versions, and every function answers "the driver is too old", which is what the real ones
answer without a driver. What to stub is read from torch's own libraries, so nothing here depends on
a version of torch or CUDA. Needs gcc and readelf.

Nothing is written where real NVIDIA libraries or a GPU driver are found, because stubs would hide
them; --force overrides that and then stubs only what is missing. Running it again rewrites the same
files.
"""

import argparse
import ctypes
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

# Families of NVIDIA's libraries: libcudart, libcublas, libcupti, libnccl, libnvshmem_host,
# libnvJitLink, ... NB: libnvpl_* are CPU libraries, which wheels of torch for aarch64 hold.
NVIDIA_SONAME = re.compile(r"lib(cu|nv(?!pl_)|nccl)\w*\.so(\.\d+)*$")

# Functions whose result is a text: torch prints it when a call fails, so it must be a real address.
RETURNS_TEXT = re.compile(r"Get(Error|Status)(String|Name)$|^ncclGetLastError$")

# cudaErrorInsufficientDriver. In the other libraries' enumerations it is an error too: none has 35
# for success.
ERROR_CODE = 35

# Text in every stub, by which a later run tells a stub from a real library.
MARK = "kernel-builder stand-in for a CUDA library"

EXIT_ENVIRONMENT = 3


@dataclass(frozen=True)
class Symbol:
    name: str
    version: str | None = None
    # The library that the reference names for this version; unversioned references name none.
    soname: str | None = None


@dataclass
class Library:
    needed: set[str]
    search: list[Path]
    defined: set[str]
    undefined: set[Symbol]


class CannotContinue(Exception):
    pass


def readelf(path, *options):
    command = ["readelf", "--wide", *options, str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


def read_library(path):
    dynamic = readelf(path, "--dynamic")
    search = [
        Path(os.path.normpath(entry.replace("$ORIGIN", str(path.parent))))
        for entries in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic)
        for entry in entries.split(":")
    ]

    # Index of a version -> (version, library that defines it), from the table of version needs.
    versions = {}
    soname = None
    for line in readelf(path, "--version-info").splitlines():
        if found := re.search(r"Version: \d+\s+File: (\S+)", line):
            soname = found[1]
        elif found := re.search(r"Name: (\S+)\s+Flags: .*Version: (\d+)", line):
            versions[found[2]] = (found[1], soname)

    # Columns: number, value, size, type, binding, visibility, section, name[@version], [(version
    # index)].
    defined, undefined = set(), set()
    for line in readelf(path, "--dyn-syms").splitlines():
        columns = line.split()
        if len(columns) < 8 or not columns[0].rstrip(":").isdigit():
            continue
        name = columns[7].partition("@")[0]
        if columns[6] != "UND":
            defined.add(name)
        elif columns[4] != "WEAK":
            index = columns[8].strip("()") if len(columns) > 8 else None
            undefined.add(Symbol(name, *versions.get(index, ())))
    return Library(set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)), search, defined, undefined)


def is_stub(path):
    # A stub is small; the real libraries reach a gigabyte and are not worth reading.
    return path.stat().st_size < 1 << 20 and MARK.encode() in path.read_bytes()


def read_torch(torch_lib):
    # Only the libraries that `import torch` loads: those that torch opens later, if asked to, may
    # stay broken.
    queue = [torch_lib / "libtorch_python.so", torch_lib / "libtorch_global_deps.so"]
    libraries = {}
    while queue:
        path = queue.pop()
        if path.name in libraries or not path.exists() or is_stub(path):
            continue
        libraries[path.name] = read_library(path)
        queue.extend(torch_lib / soname for soname in sorted(libraries[path.name].needed))
    if not libraries:
        raise CannotContinue(f"{torch_lib} holds no torch libraries")
    return libraries


def find_nvidia(libraries, torch_lib):
    # Splits the NVIDIA libraries that torch asks for into those that are missing and those that are
    # really there.
    missing, present = set(), {}
    for library in libraries.values():
        for soname in filter(NVIDIA_SONAME.match, library.needed):
            places = [folder / soname for folder in (torch_lib, *library.search)]
            real = [place for place in places if place.exists() and not is_stub(place)]
            if real:
                present[soname] = real[0]
            else:
                missing.add(soname)
    return sorted(missing - present.keys()), present


def symbols_to_stub(libraries, missing):
    defined = set().union(*(library.defined for library in libraries.values()))
    undefined = set().union(*(library.undefined for library in libraries.values()))
    # Torch can resolve every symbol that this process can (libc, Python itself).
    process = ctypes.CDLL(None)

    symbols = {soname: set() for soname in missing}
    for symbol in undefined:
        if symbol.soname in symbols:
            symbols[symbol.soname].add(symbol)
        elif symbol.soname is None and symbol.name not in defined and not hasattr(process, symbol.name):
            # An unversioned reference is looked up in all loaded libraries, so any one stub will
            # do.
            symbols[missing[0]].add(symbol)
    return symbols


def build_stub(soname, symbols, folder):
    names = sorted({symbol.name for symbol in symbols})
    source = [f'__attribute__((used)) static const char mark[] = "{MARK}";']
    for name in names:
        if RETURNS_TEXT.search(name):
            source.append(f"const char *{name}(void) {{ return mark; }}")
        else:
            source.append(f"long {name}(void) {{ return {ERROR_CODE}; }}")

    versions = {}
    for symbol in symbols:
        if symbol.version is not None:
            versions.setdefault(symbol.version, set()).add(symbol.name)
    script = [f"{version} {{ global: {'; '.join(sorted(versions[version]))}; }};" for version in sorted(versions)]

    with tempfile.TemporaryDirectory(dir=folder, prefix=".cuda-stubs-") as scratch:
        # Relative names only, so that the bytes do not depend on the folder.
        Path(scratch, "stub.c").write_text("\n".join(source) + "\n")
        command = ["gcc", "-shared", "-fPIC", "-nostdlib", "-fno-builtin", "-O1", "-s", "-w", f"-Wl,-soname,{soname}"]
        if script:
            Path(scratch, "stub.map").write_text("\n".join(script) + "\n")
            command.append("-Wl,--version-script=stub.map")
        subprocess.run([*command, "-o", soname, "stub.c"], check=True, cwd=scratch)
        os.replace(Path(scratch, soname), folder / soname)
    return len(names)


def find_torch_lib():
    # find_spec locates a top-level package without importing it.
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise CannotContinue(f"no torch is installed for {sys.executable}; name its lib folder with --torch-lib")
    return Path(spec.submodule_search_locations[0], "lib")


def has_gpu_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def make_stubs(torch_lib, folder, force):
    for tool in ("gcc", "readelf"):
        if shutil.which(tool) is None:
            raise CannotContinue(f"{tool} is not on the PATH")
    if has_gpu_driver() and not force:
        raise CannotContinue("this machine has a GPU driver (libcuda.so.1): install NVIDIA's libraries instead")

    libraries = read_torch(torch_lib)
    missing, present = find_nvidia(libraries, torch_lib)
    if present and not force:
        raise CannotContinue(
            "real NVIDIA libraries are installed beside this torch: "
            + ", ".join(f"{soname} in {path.parent}" for soname, path in sorted(present.items()))
        )
    if not missing:
        print("nothing to do: torch misses no NVIDIA library")
        return
    folder.mkdir(parents=True, exist_ok=True)
    for soname, symbols in symbols_to_stub(libraries, missing).items():
        print(f"{folder / soname}: {build_stub(soname, symbols, folder)} functions")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--torch-lib", type=Path, metavar="DIR", help="torch's folder of libraries (default: this interpreter's torch)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where the stubs go (default: beside torch's libraries)"
    )
    parser.add_argument("--force", action="store_true", help="also beside real NVIDIA libraries or a GPU driver")
    arguments = parser.parse_args()
    try:
        torch_lib = (arguments.torch_lib or find_torch_lib()).resolve()
        make_stubs(torch_lib, (arguments.out or torch_lib).resolve(), arguments.force)
    except CannotContinue as reason:
        print(f"cuda_runtime_stubs: {reason}", file=sys.stderr)
        return EXIT_ENVIRONMENT
    except subprocess.CalledProcessError as failure:
        print(f"cuda_runtime_stubs: {failure}\n{failure.stderr or ''}".rstrip(), file=sys.stderr)
        return EXIT_ENVIRONMENT
    return 0


if __name__ == "__main__":
    sys.exit(main())
