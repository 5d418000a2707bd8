"""Lays a package of the kernel where Python finds it: the Python files of the kernel, the library if there is one,
_ops.py and metadata.json. A package that was there before is replaced, whole or not at all; files that no build made
are not."""

import argparse
import base64
import hashlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
KERNEL = SCRIPTS.parent
METADATA = "metadata.json"
OPS = "_ops.py"


class CannotReplace(Exception):
    pass


def read_facts():
    return json.loads((SCRIPTS / "kernel.json").read_text(encoding="utf-8"))


def is_left_behind(path):
    """Whether Python wrote a file while it imported others."""
    return path.suffix == ".pyc" or "__pycache__" in path.parts


def python_files(facts):
    """The files of the kernel's Python package, as paths from its folder."""
    source = KERNEL / facts["source"]
    for path in sorted(source.rglob("*")):
        if path.is_file() and path.suffix[1:] in facts["extensions"] and not is_left_behind(path):
            yield path.relative_to(source)


def ops_text(facts, backend, library):
    text = (SCRIPTS / "_ops.py.in").read_text(encoding="utf-8")
    own = facts["backends"][backend]
    for name, value in {"OP_NAMESPACE": own["op-namespace"], "NAMESPACE": own["id"], "LIBRARY": library}.items():
        text = text.replace(f"__{name}__", value)
    return text


def digests(folder):
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        path.relative_to(folder).as_posix(): base64.b64encode(hashlib.sha256(path.read_bytes()).digest()).decode()
        for path in files
    }


def metadata_text(facts, backend, archs, folder):
    own = facts["backends"][backend]
    metadata = {**own["metadata"], "id": own["id"], "provenance": facts["provenance"]}
    if archs:
        metadata["backend"] = {**metadata["backend"], "archs": archs}
    metadata["digest"] = {"algorithm": "sha256", "files": digests(folder)}
    return json.dumps(metadata, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def check_replaceable(target):
    """Refuses a folder that no build made, or to which somebody added files."""
    try:
        known = json.loads((target / METADATA).read_text(encoding="utf-8"))["digest"]["files"]
    except FileNotFoundError:
        raise CannotReplace(
            f"{target} exists and is not a built package (it has no {METADATA}): move it away"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise CannotReplace(f"{target}/{METADATA} is not one of a build: move the folder away") from None
    for path in sorted(target.rglob("*")):
        relative = path.relative_to(target)
        if path.is_dir() or is_left_behind(relative) or relative.as_posix() in (*known, METADATA):
            continue
        raise CannotReplace(f"{path} is a file that no build made: move it away")


def replace(new, target):
    """Puts a folder in the place of another one, which is removed after that."""
    old = new.with_name(new.name + ".old")
    if target.exists():
        target.rename(old)
    new.rename(target)
    if old.exists():
        shutil.rmtree(old)


def place(source, target, links):
    target.parent.mkdir(parents=True, exist_ok=True)
    if links:
        target.symlink_to(source)
    else:
        shutil.copyfile(source, target)


def write_package(backend, output, library=None, archs=(), links=False):
    facts = read_facts()
    output = Path(output).absolute()
    if output.exists():
        check_replaceable(output)
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".kernel-builder-", dir=output.parent) as scratch:
        new = Path(scratch) / "package"
        new.mkdir()
        for path in python_files(facts):
            place(KERNEL / facts["source"] / path, new / path, links)
        if not (new / "__init__.py").exists():
            raise CannotReplace(f"{facts['source']} has no __init__.py")
        for name in (OPS, METADATA):
            if (new / name).exists():
                raise CannotReplace(f"{name} is generated: rename the kernel's own file of that name")
        name = ""
        if library:
            name = Path(library).name
            place(Path(library).absolute(), new / name, links)
        (new / OPS).write_text(ops_text(facts, backend, name), encoding="utf-8")
        (new / METADATA).write_text(metadata_text(facts, backend, list(archs), new), encoding="utf-8")
        os.chmod(new, 0o755)
        replace(new, output)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", required=True)
    parser.add_argument("--output", required=True, help="the folder of the package")
    parser.add_argument("--library", help="the extension library; without one, the package is Python alone")
    parser.add_argument("--archs", default="", help="the GPU architectures of the library, with blanks between them")
    parser.add_argument("--links", action="store_true", help="link the kernel's files instead of copying them")
    arguments = parser.parse_args()
    archs = sorted(set(arguments.archs.split()), key=lambda arch: (arch.partition("+")[0].zfill(6), arch))
    try:
        write_package(arguments.backend, arguments.output, arguments.library, archs, arguments.links)
    except (CannotReplace, OSError) as reason:
        sys.exit(f"error: {reason}")


if __name__ == "__main__":
    main()
