"""Checks the files of a variant, and writes its metadata.json with their digests.

Called by package.sh with the folder of the variant and the attributes of its derivation, which
Nix writes to .attrs.json. It needs the standard library alone, and Python 3.9: macOS runs it with
its own Python. `check-builds` has the same rules for builds of others, in src/artifact/.
"""

import ast
import base64
import hashlib
import json
import os
import re
import sys

# The oldest Python that a variant is for: its library keeps the limited API of that release.
OLDEST_PYTHON = (3, 9)
# Names at the top of a variant that tools write, attest.py among them.
GENERATED = ("metadata.json", "metadata.json.sigstore", "provenance.intoto.json", "sbom.cdx.json")


def files_of(folder, problems, inner=""):
    """Paths of the files below a folder, in order. Adds links, devices and the like to `problems`."""
    files = []
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        path = inner + entry.name
        if re.search(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", entry.name):
            problems.append(f"{ascii(path)}: the name has control characters, or is not UTF-8: rename it")
        elif entry.is_symlink():
            problems.append(f"{path} is a link, which is no part of a digest: put the file itself in its place")
        elif entry.is_dir():
            files += files_of(entry.path, problems, path + "/")
        elif not entry.is_file():
            problems.append(f"{path} is neither a file nor a folder: remove it")
        elif path in GENERATED:
            problems.append(f"{path} is generated: rename the kernel's own file of that name")
        elif entry.name.endswith(".pyc") or "__pycache__" in path.split("/"):
            problems.append(f"{path} is compiled by Python, and no digest has it: remove it")
        else:
            files.append(path)
    return files


def parse(path, text, problems, notes):
    """The syntax tree of a Python file, or None if it has none."""
    try:
        return ast.parse(text, path, feature_version=OLDEST_PYTHON)
    except (MemoryError, RecursionError, SyntaxError, ValueError) as error:
        why = f"{path}:{getattr(error, 'lineno', None) or 1}: {getattr(error, 'msg', None) or error}"
    oldest = ".".join(map(str, OLDEST_PYTHON))
    try:
        tree = ast.parse(text, path)
    except (MemoryError, RecursionError, SyntaxError, ValueError):
        # NB: macOS's Python may be too old for a file that is right.
        (problems if sys.version_info >= (3, 11) else notes).append(f"{why}: Python cannot read it")
        return None
    notes.append(f"{why}: Python {oldest} cannot read it, newer ones can")
    return tree


def note_own_name(path, tree, module, notes):
    """Notes imports of the kernel by its own name: clients load a variant under another one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        else:
            continue
        if any(name.split(".")[0] == module for name in names):
            notes.append(
                f"{path}:{node.lineno}: it imports `{module}`, and the client loads the kernel under another name: "
                "write `from . import ...`"
            )


def digest(path):
    """The base64 of the sha256 of a file."""
    content = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            content.update(piece)
    return base64.b64encode(content.digest()).decode()


def main():
    folder, attributes = sys.argv[1:]
    with open(attributes, encoding="utf-8") as file:
        metadata = json.load(file)["metadata"]
    problems, notes = [], []
    files = files_of(folder, problems)
    module = metadata["name"].replace("-", "_")
    for path in files:
        if path.endswith(".py"):
            with open(os.path.join(folder, path), "rb") as file:
                tree = parse(path, file.read(), problems, notes)
            if tree is not None:
                note_own_name(path, tree, module, notes)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    if problems:
        sys.exit("\n".join(f"error: {problem}" for problem in problems))
    metadata["digest"] = {
        "algorithm": "sha256",
        "files": {path: digest(os.path.join(folder, path)) for path in files},
    }
    with open(os.path.join(folder, "metadata.json"), "x", encoding="utf-8") as file:
        json.dump(metadata, file, ensure_ascii=False, indent=2, sort_keys=True)
        file.write("\n")


main()
