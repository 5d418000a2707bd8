"""Checks native files: whether they load where their variant promises, and whether they disturb
others there. It reads files of any builder, stripped ones too, and starts none.

check.py [OPTION...] PATH...   prints findings; exits 1 if there are any

nix/kernel/link.sh and package.sh run it for the files of a variant, and `kernel-builder check-abi`
for those of a user.
"""

import argparse
import json
import mmap
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import elf
import macho
import pe
from binary import MalformedFileError
from rules import Expectations, Finding, check_elf, check_macho, check_pe
from tables import NameList, Policy
from variants import Variant, find_variant

# Exit codes for values of options that nobody knows. NB: src/abi has them, too.
NO_POLICY, NO_VARIANT = 10, 11
EXTENSIONS = {".so", ".pyd", ".dylib", ".dll"}


def read_file(path):
    """The bytes of a file, which are read as they are needed."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def kind_of(path, data):
    """`elf`, `macho`, `pe`, `unknown` for a file that is named as a library and is none, else None."""
    if data[:4] == elf.MAGIC:
        return "elf"
    # NB: class files of Java begin like files for several processors, with a version for the count.
    if data[:4] in macho.MAGICS and (data[0] == 0xCF or data[4:7] == b"\0\0\0"):
        return "macho"
    if data[:2] == b"MZ" and path.suffix.lower() in (".pyd", ".dll"):
        return "pe"
    is_library = path.suffix.lower() in EXTENSIONS or ".so." in path.name
    return "unknown" if is_library else None


def find_files(paths):
    """The regular files at and below some paths, in order. No link below a path is followed."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for folder, folders, files in os.walk(path):
            folders.sort()
            for name in sorted(files):
                file = Path(folder, name)
                if file.is_file() and not file.is_symlink():
                    yield file


class Checker:
    """Judges files by the options of the command line."""

    def __init__(self, options):
        self.options = options
        self.variant = options.variant
        self.limits = dict(limit.split("=") for limit in options.limit) or None
        self.expectations = {}
        self.names = {}
        self.unlisted = set()

    def expectations_for(self, variant, machine):
        """The expectations of a file of a variant; files of one variant share them."""
        # NB: a file may name any of 65536 machines, and the names of a variant take some 50 MB.
        machine = machine if machine in elf.MACHINES.values() else "unknown"
        key = (variant and variant.name, machine)
        if key not in self.expectations:
            policy = Policy(self.options.manylinux, machine, self.limits)
            names, is_whole = self.names_of(variant)
            self.expectations[key] = Expectations(variant, policy, names, is_whole, self.options)
        return self.expectations[key]

    def names_of(self, variant):
        """The names of the libraries that a variant's files find, and whether the list is whole."""
        key = variant and variant.name
        if key not in self.names:
            files, is_whole = self.options.names, self.options.whole_names
            if variant and not self.options.link:
                files, is_whole = variant.list_files()
            if variant and variant.framework == "torch" and not is_whole:
                self.unlisted.add(variant.name)
            self.names[key] = NameList(files), is_whole
        return self.names[key]

    def check(self, path):
        """The findings of a file, and its kind; no kind for a file without native code."""
        data = read_file(path)
        kind = kind_of(path, data)
        if kind is None:
            return [], None
        if kind == "unknown":
            return [Finding("malformed-file", "it is named as a library and is none")], kind
        variant = self.variant or find_variant(path.absolute())
        is_abi3 = ".abi3." in path.name
        try:
            return self._check_kind(kind, data, variant, is_abi3), kind
        except MalformedFileError as error:
            return [Finding("malformed-file", str(error))], kind

    def _check_kind(self, kind, data, variant, is_abi3):
        if kind == "macho":
            files = [macho.MachOFile(part) for part in macho.parts(data)]
            checked = [check_macho(file, self.expectations_for(variant, file.machine), is_abi3) for file in files]
            return [finding for findings in checked for finding in findings]
        if kind == "pe":
            file = pe.PeFile(data)
            return check_pe(file, self.expectations_for(variant, file.machine), is_abi3)
        file = elf.ElfFile(data)
        if file.is_device_code:
            return []
        expected = self.expectations_for(variant, file.machine)
        self._add_names_of_link(file, expected)
        return check_elf(file, expected, is_abi3)

    def _add_names_of_link(self, file, expected):
        """Adds the names of the needed libraries that lie in the link's folders."""
        for folder in self.options.search:
            for name in file.needed:
                library = folder / name
                if library.is_file():
                    symbols = elf.ElfFile(read_file(library)).symbols()
                    expected.defined.update(symbol.name for symbol in symbols if symbol.defined)


def users_of(names, objects):
    """The objects that leave each of some names undefined."""
    users = {name: [] for name in names}
    for path in objects:
        data = read_file(path)
        if data[:4] != elf.MAGIC:
            continue
        for name in elf.ElfFile(data).undefined_in_object() & users.keys():
            # Paths of a store begin with a hash.
            users[name].append(re.sub(r"^[0-9a-z]{32}-", "", path.name))
    return users


def listed_objects(words):
    """The objects of a link; a word `@FILE` stands for those that the file lists."""
    for word in words:
        if word.startswith("@"):
            yield from map(Path, Path(word[1:]).read_text().split())
        else:
            yield Path(word)


def demangled(names):
    """C++ names as a person writes them, if this machine has c++filt."""
    program = shutil.which("c++filt")
    if not program or not names:
        return {}
    text = subprocess.run([program], input="\n".join(names), stdout=subprocess.PIPE, text=True, check=True)
    return dict(zip(names, text.stdout.splitlines()))


def as_json(path, finding, words):
    """A finding for other programs."""
    near = getattr(finding, "nearest", None)
    return {
        "rule": finding.rule,
        "file": str(path),
        "symbol": finding.symbol,
        "name": words.get(finding.symbol, finding.symbol),
        "nearest": words.get(near, near),
        "used_in": finding.details,
        "message": finding.message,
        "cure": finding.cure,
    }


def print_findings(findings):
    """Prints findings, as they are in JSON, for the log of a build."""
    groups = {}
    for finding in findings:
        groups.setdefault((finding["file"], finding["rule"]), []).append(finding)
    for (file, rule), group in groups.items():
        cures = list(dict.fromkeys(finding["cure"] for finding in group))
        if rule == "undefined-symbol":
            for finding in group:
                users, near = finding["used_in"], finding["nearest"]
                print(finding["name"] + (", used in" if users else ""))
                for user in users:
                    print(f"    {user}")
                if near:
                    print(f"    (there is {near})")
            print(f"error: {Path(file).name}: nothing defines these: {' '.join(cures)}")
        elif rule == "symbol-version":
            for message in dict.fromkeys(finding["message"] for finding in group):
                print(message.removeprefix("it needs ") + " for")
                for finding in group:
                    if finding["message"] == message and finding["name"]:
                        print(f"    {finding['name']}")
            print(f"error: {Path(file).name} needs newer system libraries than its variant promises")
        else:
            for finding in group:
                symbol = f"{finding['name']}: " if finding["symbol"] else ""
                print(f"{symbol}{finding['message']}")
            print(f"error: {Path(file).name}: {rule}: {'; '.join(cures)}")


def parse_options():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--variant", help="the variant of all files [default: that of their folder]")
    parser.add_argument("--manylinux", default="manylinux_2_28", help="a policy or an alias of one")
    parser.add_argument("--python", default="3.9", help="the oldest Python of abi3 files")
    parser.add_argument("--macos", default="15.0", help="the oldest macOS")
    parser.add_argument("--limit", action="append", default=[], help="FAMILY=VERSION instead of the policy's")
    parser.add_argument("--link", action="store_true", help="take names from the options below alone")
    parser.add_argument("--names", action="append", default=[], type=Path, help="a file of a name list")
    parser.add_argument("--whole-names", action="store_true", help="the lists have all names of torch")
    parser.add_argument("--defined", action="append", default=[], type=Path, help="a file of more names")
    parser.add_argument("--search", action="append", default=[], type=Path, help="a folder of libraries")
    parser.add_argument("--shim", type=Path, help="the table of C functions for stable extensions")
    parser.add_argument("--openmp", metavar="VERSION", help="objects may need OpenMP up to this version")
    parser.add_argument("--object", action="append", default=[], help="an object of the link, or @FILE")
    options = parser.parse_args()
    try:
        Policy(options.manylinux, "x86_64")
    except KeyError:
        sys.exit(NO_POLICY)
    try:
        options.variant = options.variant and Variant(options.variant)
    except ValueError:
        sys.exit(NO_VARIANT)
    return options


def main():
    options = parse_options()
    checker = Checker(options)
    found, checked = [], []
    for path in find_files(options.paths):
        findings, kind = checker.check(path)
        if kind is not None:
            checked.append(str(path))
        found += [(path, finding) for finding in findings]
    lost = [finding for _, finding in found if finding.rule == "undefined-symbol"]
    if lost and options.object:
        users = users_of({finding.symbol for finding in lost}, list(listed_objects(options.object)))
        for finding in lost:
            finding.details = sorted(users[finding.symbol])
    names = {finding.symbol for _, finding in found} | {getattr(finding, "nearest", None) for _, finding in found}
    words = demangled(sorted(names - {None}))
    findings = [as_json(path, finding, words) for path, finding in found]
    if options.json:
        answer = {"checked": checked, "unlisted": sorted(checker.unlisted), "findings": findings}
        print(json.dumps(answer, indent=1))
    else:
        print_findings(findings)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
