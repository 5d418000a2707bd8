"""Compiles one unit with the declarations of torch that it names, or else with all of torch's headers.

    python3 lean.py HEADERS --generated DIR [--library DIR]... [--launcher WORD]... -- COMPILER ARGUMENT...

HEADERS is a folder of make.py (lean_headers.py). The text of the unit is its source and the headers
that it reaches in the compiler's -I folders except DIR, and in the libraries those that include
torch. lean.cmake puts this before the compiler's command.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include(?:_next)?[ \t]*(.*)", re.MULTILINE)
OF_TORCH = re.compile(rb'#[ \t]*include[ \t]*[<"](ATen|c10|torch)/')
ERROR = re.compile(r"(^|[^-\w])error", re.ASCII)
COLOUR = re.compile(r"\x1b\[[0-9;]*[mK]")
# The words of gcc, clang and nvcc for a process that was killed or got no memory.
NO_MEMORY = re.compile(
    r"by signal 9|Killed signal terminated|out of memory allocating|virtual memory exhausted|command: Killed"
    r"|due to signal 9"
)


class Unit:
    """The files that a command compiles into one object."""

    def __init__(self, arguments, generated, libraries):
        self.source = Path(value_of(arguments, "-c"))
        self.object = Path(value_of(arguments, "-o"))
        folders = (Path(word[2:]) for word in arguments if word.startswith("-I") and len(word) > 2)
        self.folders = [folder for folder in folders if folder != generated]
        self.libraries = [library.resolve() for library in libraries]
        self.forced = [word for flag, word in zip(arguments, arguments[1:]) if flag == "-include"]

    def texts(self):
        """The files that are the unit's text, or a reason why they cannot be known."""
        texts = {}
        waiting = [(self.source, False), *filter(None, (self.find(name, Path()) for name in self.forced))]
        while waiting:
            file, is_library = waiting.pop()
            if file in texts:
                continue
            content = file.read_bytes()
            texts[file] = not is_library or OF_TORCH.search(content)
            for target in INCLUDE.findall(content):
                name = re.match(rb'[<"]([^>"]+)', target)
                if name is None and not is_library:
                    return None, f"includes a header that a macro names in {file.name}"
                found = self.find(os.fsdecode(name[1]), file.parent) if name else None
                if found:
                    waiting.append(found)
        return [file for file, counts in texts.items() if counts], None

    def find(self, name, here):
        """A header of the kernel or of a library, and whether it is a library's; `None` for other headers."""
        for folder in [here, *self.folders, *self.libraries]:
            file = (folder / name).resolve()
            if file.is_file():
                return file, any(library in file.parents for library in self.libraries)
        return None


def value_of(arguments, flag):
    return arguments[arguments.index(flag) + 1]


def select(headers, unit, arguments):
    """The folder of the headers that the unit names. Without it, the reason why the unit gets all headers, and `None`
    for a unit that includes no umbrella header."""
    texts, reason = unit.texts()
    if reason:
        return None, f"it {reason}"
    folder = Path(f"{unit.object}.lean")
    (folder / "lean").mkdir(parents=True, exist_ok=True)
    flags = folder / "flags"
    # A flag may define a macro, and so add names to the text.
    flags.write_bytes(os.fsencode("\n".join(arguments)))
    program = Path(__file__).with_name("lean_select.awk")
    command = ["awk", "-v", f"out={folder / 'lean'}", "-f", program, headers / "index", *texts, flags]
    # NB: awk reads bytes in this locale, whatever a source is encoded in.
    environment = os.environ | {"LC_ALL": "C"}
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout.strip()
    if answer == "lean":
        return folder, None
    return None, answer.removeprefix("full ") if answer.startswith("full ") else None


def compile_leanly(headers, folder, command, launcher):
    """Prints the compiler's words and returns its status, or returns the reason to try with all headers."""
    lean = ["-DAT_PER_OPERATOR_HEADERS", "-isystem", folder, "-isystem", headers / "include"]
    tried = subprocess.run(
        [*launcher, command[0], *lean, *command[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    words = tried.stdout.decode(errors="replace")
    if tried.returncode == 0 or NO_MEMORY.search(words):
        sys.stderr.write(words)
        return tried.returncode, None
    errors = (COLOUR.sub("", line) for line in words.splitlines())
    return None, next(filter(ERROR.search, errors), "it does not compile with lean headers")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("headers", type=Path)
    parser.add_argument("--generated", type=Path, required=True)
    parser.add_argument("--library", action="append", type=Path, default=[])
    parser.add_argument("--launcher", action="append", default=[])
    at = sys.argv.index("--")
    options, command = parser.parse_args(sys.argv[1:at]), sys.argv[at + 1 :]
    reason = None
    if "-c" in command and "-o" in command:
        unit = Unit(command, options.generated, options.library)
        folder, reason = select(options.headers, unit, command)
        if folder:
            status, reason = compile_leanly(options.headers, folder, command, options.launcher)
            if status is not None:
                sys.exit(status)
        if reason:
            note = f"note: {unit.source.name} is compiled with torch's own headers: {reason}\n"
            sys.stderr.write(note)
            sys.stderr.flush()
    sys.exit(subprocess.run([*options.launcher, *command]).returncode)


if __name__ == "__main__":
    main()
