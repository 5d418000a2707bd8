"""Compiles the Python files below the current folder beside themselves, with all cores.

A package of many files, such as torch, is compiled as far as importing it goes. The rest of it, and
the tests of any package, would take half of the time, and most programs import none of it.
"""

import dis
import marshal
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from importlib.util import resolve_name
from pathlib import Path
from py_compile import PycInvalidationMode, PyCompileError
from py_compile import compile as compile_file

# The number of Python files from which on a package is compiled only as far as importing it goes.
MANY = 450

# Bytes before the code in a compiled file.
HEADER = 16


def compile_beside(path):
    """Returns the path of the compiled file, or None if the file has errors, as some tests do."""
    try:
        # NB: the hash makes the bytes the same whenever a file is compiled.
        return compile_file(path, doraise=True, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
    except (PyCompileError, UnicodeDecodeError) as error:
        print(f"note: {path} does not compile: {type(error).__name__}", file=sys.stderr)
        return None


def compile_and_list_imports(path):
    """Returns names of modules that a file may import when it is imported itself: those of its
    import statements outside of functions and of `if TYPE_CHECKING:`."""
    compiled = compile_beside(path)
    if compiled is None:
        return set()
    package = ".".join(Path(path).parent.parts)
    names = set()
    code = marshal.loads(Path(compiled).read_bytes()[HEADER:])
    instructions = [each for each in dis.get_instructions(code) if each.opname != "EXTENDED_ARG"]
    resume_at = 0
    for level, members, instruction in zip(instructions, instructions[1:], instructions[2:]):
        if instruction.offset < resume_at:
            continue
        if instruction.opname == "IMPORT_NAME":
            name = resolve_name("." * level.argval + instruction.argval, package)
            names.update({name, *(f"{name}.{member}" for member in members.argval or ())})
        elif members.argval == "TYPE_CHECKING" and "IF_FALSE" in instruction.opname:
            resume_at = instruction.argval
    return names


def file_of(module):
    """The file of a module below this folder, or None."""
    path = Path(*module.split("."))
    for file in (path / "__init__.py", path.with_suffix(".py")):
        if file.is_file():
            return str(file)
    return None


def compile_imported(pool, package):
    """Compiles the files that importing a package imports of it."""
    seen = set()
    files = [file_of(package)]
    while files:
        seen.update(files)
        modules = set()
        for names in pool.map(compile_and_list_imports, files):
            for parts in (name.split(".") for name in names):
                # A module is imported after the packages that hold it.
                modules.update(".".join(parts[: count + 1]) for count in range(len(parts)) if parts[0] == package)
        files = sorted({file for file in map(file_of, modules) if file} - seen)


def main():
    small, large = [], []
    for entry in sorted(Path().iterdir()):
        found = sorted(entry.rglob("*.py")) if entry.is_dir() else [entry] * (entry.suffix == ".py")
        files = [str(file) for file in found if "tests" not in file.parts]
        if len(files) >= MANY and (entry / "__init__.py").is_file():
            large.append(entry.name)
        else:
            small += files
    with ProcessPoolExecutor(int(os.environ.get("NIX_BUILD_CORES") or 0) or os.cpu_count()) as pool:
        for _ in pool.map(compile_beside, small, chunksize=8):
            pass
        for package in large:
            compile_imported(pool, package)


if __name__ == "__main__":
    main()
