"""The data that rules are judged by: policies, Python's limited API, torch's C functions, and the
exported names of pinned libraries. scripts/abi-tables.py makes all of it."""

import bisect
import difflib
import json
import re
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
# The names beside a missing one that are compared with it.
NEIGHBOURS = 60


def read_table(name):
    """A table of nix/abi/tables."""
    return json.loads((HERE / "tables" / f"{name}.json").read_text())


def read_lists():
    """The facts about name lists by their keys."""
    return json.loads((HERE / "symbols/lists.json").read_text())["lists"]


def read_shim(path):
    """The torch release of each C function for stable extensions, from a file or from nix/abi."""
    return json.loads((path or HERE / "symbols/torch-shim.json").read_text())["added"]


def release_key(text):
    """The numbers of a version, to compare versions by."""
    return tuple(int(part) for part in text.split("."))


class Policy:
    """A manylinux policy for one processor."""

    def __init__(self, name, machine, limits=None):
        policies = read_table("manylinux")["policies"]
        known = {alias: key for key, value in policies.items() for alias in value["aliases"]}
        self.name = known.get(name, name)
        if self.name not in policies:
            raise KeyError(name)
        policy = policies[self.name]
        self.libraries = set(policy["libraries"])
        self.versions = policy["versions"].get(machine, {})
        # Symbols of a library that a policy allows without them, by library.
        self.missing = policy["missing"]
        self.limits = limits or {
            family: max((known for known in versions if known[0].isdigit()), key=release_key)
            for family, versions in self.versions.items()
        }
        self._is_by_limits = limits is not None

    def allows(self, version):
        """Whether files may need a version, such as GLIBC_2.28; versions of families that the
        policy does not know, such as those of torch's libraries, are not its matter."""
        family, _, number = version.partition("_")
        if family not in self.limits:
            return True
        if not self._is_by_limits:
            return number in self.versions[family]
        is_number = re.fullmatch(r"\d+(\.\d+)*", number)
        return bool(is_number) and release_key(number) <= release_key(self.limits[family])


class NameList:
    """Exported names of libraries with the class of each: `torch`, `torch-cuda`, `torch-python`,
    `openmp`, `tvm-ffi`, or a library of NVIDIA's, such as `libcudnn`. The class `loaded` has the
    names of those libraries that torch needs. A file of the list holds what changed since another
    release, so a list is read from several files, the oldest first."""

    def __init__(self, files):
        self.classes, kinds = {}, set()
        for file in files:
            into = None
            for line in zlib.decompress(Path(file).read_bytes(), 31).decode().splitlines():
                if line.startswith("#"):
                    continue
                if line.startswith(("+ ", "- ")):
                    into = line[2:] if line[0] == "+" else None
                    kinds.add(into)
                elif into is None:
                    self.classes.pop(line, None)
                else:
                    self.classes[line] = into
        # The libraries of NVIDIA's whose names these are, and those that torch needs.
        self.libraries = {kind for kind in kinds - {None} if kind.startswith("lib")}
        self.loaded = {name for name in self.libraries if self.classes.get(name) == "loaded"}
        self._sorted = None

    def __bool__(self):
        return bool(self.classes)

    def nearest(self, name, allowed):
        """The most similar name of some classes; None if none is similar."""
        if self._sorted is None:
            self._sorted = sorted(self.classes)
        at = bisect.bisect(self._sorted, name)
        near = self._sorted[max(0, at - NEIGHBOURS) : at + NEIGHBOURS]
        near = [other for other in near if self.classes[other] in allowed]
        found = difflib.get_close_matches(name, near, 1, 0.75)
        return found[0] if found else None


def list_files(key):
    """The files of a name list such as `x86_64-linux/torch-2.11.0`, the oldest first; empty if
    there is no such list."""
    lists, files = read_lists(), []
    while key in lists:
        files.insert(0, HERE / "symbols" / f"{key}.gz")
        key = lists[key].get("base")
    return files


def find_lists(system, prefix):
    """The newest release's list of a kind, such as `torch-2.11`, on a system: its key and its
    facts; None if there is none."""
    found = [
        (key, facts)
        for key, facts in read_lists().items()
        if re.fullmatch(rf"{re.escape(f'{system}/{prefix}')}(\.\d+)*", key)
    ]
    return found[-1] if found else None
