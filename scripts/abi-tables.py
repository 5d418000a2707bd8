#!/usr/bin/env python3
"""Makes the data of nix/abi from the packages that own the facts (`make abi-tables`).

abi-tables.py [--policies] [--libc] [LIST...]   makes tables, and name lists such as
                                                x86_64-linux/torch-2.11.0; without arguments, all

Policies come from auditwheel, the limited API from abi3info: run this with the Python of
target/abi-venv (scripts/abi-venv.sh). Name lists come from the pinned archives of nix/pins and,
for a torch for CUDA, also from the wheels of NVIDIA's that it requires, as a list of their own
(x86_64-linux/torch-2.11.0-nvidia). pip and apt download them; each is removed again. A wheel is
read whole, since the names of torch's libraries lie at their ends: patchelf moved them.
"""

import argparse
import gzip
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "nix/abi/tables"
SYMBOLS = ROOT / "nix/abi/symbols"
INDEX, SHIM = SYMBOLS / "lists.json", SYMBOLS / "torch-shim.json"
SYSTEMS = ["x86_64-linux", "aarch64-linux"]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "nix/abi/program"))

from elf import ElfFile  # noqa: E402
from rules import CUDA, CUDA_LIBRARIES  # noqa: E402
from tables import NameList, list_files  # noqa: E402

SHIM_HEADERS = re.compile(r"torch/include/torch/csrc/(stable/c/|inductor/aoti_torch/(c|generated)/).*\.h$")
SHIM_NAME = re.compile(r"\b((?:aoti_torch|torch)_\w+)\s*\(")
# Names of no other file: of closures and of unnamed namespaces.
LOCAL_NAMES = re.compile(r"_Z(T[VTIS]|GV)?Z|.*EUl.*E\d*_|.*_GLOBAL__N_")
# The wheels of NVIDIA's with libraries that kernels use: those that torch requires itself, and
# those of a toolkit, whose versions the wheel `cuda-toolkit` requires.
OF_TORCH = r"nvidia-(?:cudnn|cusparselt|nccl|nvshmem)(?:-cu\d+)?"
OF_TOOLKIT = r"nvidia-(?:cublas|cuda-cupti|cuda-nvrtc|cuda-runtime|cufft|cufile|curand|cusolver|cusparse)(?:-cu\d+)?"


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")


def make_policies():
    """manylinux.json and python.json, from the packages of this Python."""
    from importlib.metadata import version

    import abi3info
    import auditwheel.policy

    source = Path(auditwheel.policy.__file__).parent / "manylinux-policy.json"
    policies = {}
    for policy in json.loads(source.read_text()):
        machines = policy["symbol_versions"]
        policies[policy["name"]] = {
            "aliases": policy["aliases"],
            "libraries": sorted(policy["lib_whitelist"]),
            "missing": policy.get("blacklist", {}),
            "versions": {key: machines[key] for key in ("x86_64", "aarch64", "i686") if key in machines},
        }
    del policies["linux"]
    write_json(TABLES / "manylinux.json", {"source": f"auditwheel {version('auditwheel')}", "policies": policies})
    known = {**abi3info.FUNCTIONS, **abi3info.DATAS}
    added = {symbol.name: f"{fact.added.major}.{fact.added.minor}" for symbol, fact in known.items()}
    write_json(TABLES / "python.json", {"source": f"abi3info {version('abi3info')}", "added": added})


def pinned(system, family):
    return json.loads((ROOT / f"nix/pins/{system}/{family}.json").read_text())


def archives(system, family):
    """The archives of a family, and those whose members it takes."""
    pins = pinned(system, family)
    sources = [source["archive"] for tree in pins.get("trees", []) for source in tree["sources"]]
    return pins.get("archives", []) + sources


def wheel(system, name, version):
    """The pin of a wheel, or its name and version if no family has one."""
    for path in sorted((ROOT / "nix/pins" / system).glob("*.json")):
        for archive in archives(system, path.stem):
            if archive["kind"] == "wheel" and (archive["name"], archive["version"]) == (name, version):
                return archive
    machine = system.split("-")[0]
    tags = [f"manylinux_2_{release}_{machine}" for release in range(5, 29)]
    tags += [f"manylinux{year}_{machine}" for year in ("1", "2010", "2014")]
    return {"kind": "wheel", "name": name, "version": version, "tags": ["py3", "none", ".".join(tags)]}


def download(archive, folder):
    """A wheel or a Debian package, by pip or apt. Its hash is that of the pin; a wheel that is not
    pinned gets its file and the hash that pip checked."""
    path = Path(folder, archive.get("file", ""))
    if archive["kind"] == "wheel":
        tags = archive.get("tags") or archive["file"].removesuffix(".whl").split("-")[-3:]
        is_pinned = "sha256" in archive
        requirement = Path(folder, "requirement.txt")
        line = f"{archive['name']}=={archive['version']}"
        requirement.write_text(line + (f" --hash=sha256:{archive['sha256']}\n" if is_pinned else "\n"))
        platforms = [f"--platform={tag}" for tag in tags[-1].split(".")]
        release = re.fullmatch(r"cp3(\d+)", tags[-3])
        python = [f"--python-version=3.{release[1] if release else 11}", "--implementation=cp"]
        python += [f"--abi={tag}" for tag in tags[-2].split(".")]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
        command += ["--only-binary=:all:", f"--dest={folder}", *platforms, *python]
        command += ["--require-hashes"] if is_pinned else []
        subprocess.run([*command, f"--requirement={requirement}"], check=True)
        if not is_pinned:
            path = next(Path(folder).glob("*.whl"))
            with path.open("rb") as file:
                archive |= {"file": path.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
    else:
        package = f"{archive['name']}={archive['version']}"
        subprocess.run(["apt-get", "download", "--quiet", package], cwd=folder, check=True)
        path = next(Path(folder).glob("*.deb")).rename(path)
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != archive["sha256"]:
            sys.exit(f"error: {archive['file']} has another content than its pin")
    return path


def defined_names(data):
    return {symbol.name for symbol in ElfFile(data).symbols() if symbol.visible and symbol.name}


def read_archive(read, archive):
    """The value that a function reads from an archive, which is downloaded and removed."""
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as folder:
        return read(download(archive, folder))


def make_libc():
    """libc.json: the names that the C library and its parts define."""
    archive = next(one for one in archives(SYSTEMS[0], "gcc-12") if one["name"] == "libc6")
    names = set()
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as folder:
        path = download(archive, folder)
        subprocess.run(["dpkg-deb", "--extract", path, folder], check=True)
        for name in ("libc.so.6", "libm.so.6", "libmvec.so.1", "ld-linux-x86-64.so.2"):
            names |= defined_names(next(Path(folder).glob(f"lib/*/{name}")).read_bytes())
    names = sorted(name for name in names if not re.match(r"GLIBC|_(init|fini|end|edata|bss_start)$", name))
    write_json(TABLES / "libc.json", {"source": archive["file"], "names": names})


def requirements(path, projects):
    """The names and versions of some projects that a wheel requires in one version. A version may
    end in `.*` for releases of the wheel alone."""
    with zipfile.ZipFile(path) as file:
        metadata = next(name for name in file.namelist() if name.endswith(".dist-info/METADATA"))
        text = file.read(metadata).decode()
    found = re.findall(rf"^Requires-Dist: ({projects}) ?\(?==([\d.]+?)(?:\.\*)?\)?(?:[ ;]|$)", text, re.MULTILINE)
    return sorted(set(found))


def read_torch(path):
    """The names of torch's libraries by class, facts (the C++ ABI, the CUDA), the C functions for
    stable extensions, and the libraries of NVIDIA's that torch needs, of a wheel."""
    libraries, needed = {}, {}
    with zipfile.ZipFile(path) as wheel:
        for member in wheel.namelist():
            name = member.rsplit("/", 1)[-1]
            if re.match(r"torch(/lib|\.libs)/[^/]+\.so[.\d]*$", member):
                data = wheel.read(member)
                libraries[name], needed[name] = defined_names(data), ElfFile(data).needed
        facts = wheel.read("torch/version.py").decode()
        shim = set()
        for member in filter(SHIM_HEADERS.match, wheel.namelist()):
            shim |= set(SHIM_NAME.findall(wheel.read(member).decode()))

    def closure(*roots):
        found, left = set(), [root for root in roots if root in libraries]
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                left += [other for other in needed[name] if other in libraries]
        return found

    openmp = {name for name in libraries if name.startswith("libgomp")}
    of_torch = closure("libc10.so", "libtorch_cpu.so") - openmp
    classes = {
        "openmp": openmp,
        "torch": of_torch,
        "torch-cuda": closure("libc10_cuda.so", "libtorch_cuda.so") - of_torch - openmp,
        "torch-python": closure("libtorch_python.so") - of_torch - openmp,
    }
    shapes = json.loads((TABLES / "shapes.json").read_text())["shapes"]
    parts = [*shapes["torch-unlisted"], *shapes["torch-c-unlisted"], *shapes["torch-python"]]
    is_torch = re.compile("|".join(parts)).match
    is_openmp = re.compile(shapes["openmp"][0]).match
    names = {}
    for kind, members in reversed(classes.items()):
        wanted = is_openmp if kind == "openmp" else is_torch
        for name in sorted(set().union(*(libraries[member] for member in members))):
            if wanted(name) and not LOCAL_NAMES.match(name):
                names[name] = kind
    exported = libraries["libtorch_cpu.so"] | libraries.get("libtorch_cuda.so", set())
    failing = [name for name in libraries["libc10.so"] if name.startswith("_ZN3c106detail14torchCheckFail")]
    cuda = re.search(r"^cuda[^=]*= '([\d.]+)'", facts, re.MULTILINE)
    return (
        names,
        {
            "cxx-abi": "cxx11" if any("__cxx11" in name for name in failing) else "cxx98",
            "compute": "cu" + cuda[1].replace(".", "") if cuda else "cpu",
        },
        sorted(shim & exported),
        {
            other.partition(".so")[0]
            for member in of_torch | closure("libc10_cuda.so", "libtorch_cuda.so")
            for other in needed[member]
            if re.fullmatch(CUDA_LIBRARIES, other)
        },
    )


def read_nvidia(path):
    """The names of the libraries in a wheel of NVIDIA's with the library of each, as far as they
    are those of an interface."""
    names = {}
    with zipfile.ZipFile(path) as wheel:
        members = {member.rsplit("/", 1)[-1].partition(".so")[0]: member for member in wheel.namelist()}
        for library, member in sorted(members.items()):
            if not re.search(r"/lib/lib[^/]+\.so[.\d]*$", member):
                continue
            for name in filter(CUDA.match, defined_names(wheel.read(member))):
                # Several libraries define some names: libcublasLt has those of `cublasLt`.
                if name not in names or name.startswith(library.removeprefix("lib")):
                    names[name] = library
    return names or sys.exit(f"error: {path.name} has no library with names of NVIDIA's")


def read_tvm_ffi(path):
    with zipfile.ZipFile(path) as wheel:
        data = wheel.read("tvm_ffi/lib/libtvm_ffi.so")
    return {name: "tvm-ffi" for name in sorted(defined_names(data)) if not LOCAL_NAMES.match(name)}


def packed(key, names, old, files):
    """A file of names: those that a base does not have with their classes, and those that only it
    has."""
    lines = [f"# names of {key}, made by scripts/abi-tables.py from {files}"]
    for kind in sorted(set(names.values())):
        lines += [f"+ {kind}", *sorted(name for name in names if names[name] == kind != old.get(name))]
    lines += ["- ", *sorted(old.keys() - names.keys())]
    return gzip.compress("\n".join(lines).encode(), 9, mtime=0)


def make_list(key, facts):
    """The list of a family, beside the facts about all lists. Returns the C functions of torch for
    stable extensions."""
    system, family = key.split("/")
    if family.startswith("cuda-"):
        release_of = tomllib.loads((ROOT / "nix/pins/families.toml").read_text())["cuda-toolkit"]
        toolkit = wheel(system, "cuda-toolkit", release_of[family.removeprefix("cuda-")])
        required = read_archive(lambda path: requirements(path, OF_TOOLKIT), toolkit)
        write_list(key, facts, *read_nvidia_wheels(system, required))
        return []
    [archive] = archives(system, family)
    if not family.startswith("torch-"):
        write_list(key, facts, read_archive(read_tvm_ffi, archive), [archive])
        return []
    read = read_torch, lambda path: requirements(path, OF_TORCH)
    (names, more, shim, loaded), required = read_archive(lambda path: [part(path) for part in read], archive)
    write_list(key, facts, names, [archive], more)
    if more["compute"] != "cpu":
        names, sources = read_nvidia_wheels(system, required)
        write_list(f"{key}-nvidia", facts, names | dict.fromkeys(sorted(loaded), "loaded"), sources)
    return shim


def read_nvidia_wheels(system, required):
    """The names that wheels of NVIDIA's define, and these wheels."""
    names, sources = {}, [wheel(system, name, version) for name, version in required]
    for archive in sources:
        names |= read_archive(read_nvidia, archive)
    return names, sources


def write_list(key, facts, names, sources, more=None):
    """Writes a list of names, based on the one that makes it smallest."""
    system, family = key.split("/")
    files = " ".join(archive["file"] for archive in sources)
    same = [other for other in facts["lists"] if other != key and kind_of(other) == kind_of(key)]
    # A list may be based on a neighbour of its system, or on its release for the other system.
    before = [other for other in same if other.startswith(system) and release(other) < release(key)]
    after = [other for other in same if other.startswith(system) and release(other) > release(key)]
    elsewhere = [other for other in same if other.endswith(f"/{family}") and key not in bases_of(other, facts)]
    neighbours = [other for other in before[-1:] + after[:1] if key not in bases_of(other, facts)]
    bases = [None, *neighbours, *elsewhere]
    named = {base: NameList(list_files(base) if base else []).classes for base in bases}
    packs = {base: packed(key, names, named[base], files) for base in bases}
    # NB: each file is an input of a link, and an input takes Nix as long as two kilobytes.
    base = min(bases, key=lambda base: len(packs[base]) + 2000 * len(list_files(base)))
    content = packs[base]
    based = [other for other in same if facts["lists"][other].get("base") == key]
    based = {other: NameList(list_files(other)).classes for other in based}
    target = SYMBOLS / f"{key}.gz"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    # A list that is based on this one keeps its names.
    for other, its_names in based.items():
        its_files = " ".join(facts["lists"][other]["archives"])
        (SYMBOLS / f"{other}.gz").write_bytes(packed(other, its_names, names, its_files))
    facts["lists"][key] = {
        "archives": {archive["file"]: archive["sha256"] for archive in sources},
        "names": sum(kind != "loaded" for kind in names.values()),
        **({"base": base} if base else {}),
        **(more or {}),
    }
    print(f"{key}: {len(names)} names, {len(content)} bytes, from {base}", flush=True)


def bases_of(key, facts):
    """The lists that a list is based on, and theirs."""
    found = []
    while key := facts["lists"].get(key, {}).get("base"):
        found.append(key)
    return found


def kind_of(key):
    """The kind of a list: `torch`, `torch-nvidia`, `cuda` or `tvm-ffi`."""
    return re.sub(r"-[\d.]+", "", key.split("/")[1])


def release(key):
    return tuple(int(part) for part in re.search(r"-([\d.]+)(-nvidia)?$", key)[1].split("."))


def read_json(path, empty):
    return json.loads(path.read_text()) if path.exists() else empty


def make_lists(wanted):
    for key in wanted:
        facts = read_json(INDEX, {"source": "the archives that are named here", "lists": {}})
        shim = make_list(key, facts)
        order = sorted(facts["lists"].items(), key=lambda one: (one[0].split("/")[0], kind_of(one[0]), release(one[0])))
        INDEX.write_text(json.dumps({**facts, "lists": dict(order)}, indent=1) + "\n")
        if shim and key.startswith(SYSTEMS[0]):
            table = read_json(SHIM, {"source": "torch's headers and libraries", "added": {}})
            new = ".".join(key.rsplit("-", 1)[1].split(".")[:2])
            numbers = {name: tuple(map(int, old.split("."))) for name, old in table["added"].items()}
            for name in shim:
                if name not in numbers or tuple(map(int, new.split("."))) < numbers[name]:
                    table["added"][name] = new
            write_json(SHIM, table)


def is_listed_toolkit(system, family):
    """Whether a family is a CUDA toolkit whose libraries package indexes have."""
    headers = ROOT / f"nix/pins/{system}/{family}-headers.json"
    return bool(re.fullmatch(r"cuda-\d+\.\d+", family)) and headers.exists() and bool(archives(system, headers.stem))


def all_lists():
    """The lists that package indexes have the archives of, each after the ones it may be based on."""
    found = []
    for system in SYSTEMS:
        files = (ROOT / "nix/pins" / system).glob("*.json")
        keys = [file.stem for file in files if re.fullmatch(r"(torch|tvm-ffi)-\d+\.\d+\.\d+", file.stem)]
        keys += [file.stem for file in files if is_listed_toolkit(system, file.stem)]
        found += [f"{system}/{key}" for key in sorted(keys, key=release)]
    return found


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--policies", action="store_true")
    parser.add_argument("--libc", action="store_true")
    parser.add_argument("lists", nargs="*")
    options = parser.parse_args()
    is_all = not (options.policies or options.libc or options.lists)
    if options.policies or is_all:
        make_policies()
    if options.libc or is_all:
        make_libc()
    make_lists(all_lists() if is_all else options.lists)


main()
