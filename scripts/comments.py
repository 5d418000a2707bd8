#!/usr/bin/env python3
"""Finds comments that break this repository's rules for plain English, and wraps long ones.

comments.py [--check] [PATH...]   lists findings; with --check, exits 1 if there are any
comments.py --wrap FILE...        wraps the prose paragraphs with a line of more than 100 columns
comments.py --sample N --seed S   prints N random comments, and N/2 (or --names M) random names

Without paths, it reads the files that git knows below src, lib, nix, scripts, tests and benches.
The rules are in CONTRIBUTING.md; a program can check some of them, and only by heuristics.
"""

import argparse
import ast
import io
import random
import re
import subprocess
import sys
import textwrap
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "lib", "nix", "scripts", "tests", "benches")
WIDTH = 100
SLASHES = {".rs", ".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hip", ".metal"}
HASHES = {".sh", ".toml"}


class Line:
    """One line of a comment: its number in the file, the text before the comment's words, and the
    words."""

    def __init__(self, number, prefix, words, trailing=False):
        self.number, self.prefix, self.words, self.trailing = number, prefix, words, trailing

    @property
    def width(self):
        return len(self.prefix) + len(self.words)


class Block:
    """The lines of one comment, in one file."""

    def __init__(self, path, lines):
        self.path, self.lines = path, lines

    @property
    def place(self):
        return f"{self.path}:{self.lines[0].number}"

    @property
    def text(self):
        return " ".join(line.words.strip() for line in self.lines).strip()


def skip_rust_string(text, at):
    """The end of a string or character literal that starts at a place, or None."""
    raw = re.compile(r'b?c?r(#*)"').match(text, at)
    if raw and not (at and (text[at - 1].isalnum() or text[at - 1] == "_")):
        end = text.find('"' + raw.group(1), raw.end())
        return len(text) if end < 0 else end + 1 + len(raw.group(1))
    if text[at] == '"':
        end = re.compile(r'"(?:[^"\\]|\\.)*"', re.S).match(text, at)
        return end.end() if end else len(text)
    if text[at] == "'":
        end = re.compile(r"'(?:\\[^']+|\\'|[^'\\\n])'").match(text, at)
        return end.end() if end else None
    return None


def slash_comments(text):
    """Places (start, end) of the comments of Rust or C."""
    at, found = 0, []
    while at < len(text):
        end = skip_rust_string(text, at)
        if end:
            at = end
        elif text.startswith("//", at):
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            found.append((at, end))
            at = end
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            end = len(text) if end < 0 else end + 2
            found.append((at, end))
            at = end
        else:
            at += 1
    return found


def nix_comments(text):
    """Places (start, end) of the comments of Nix. A stack of states follows strings and the code
    inside of them."""
    at, found, stack = 0, [], ["code"]
    while at < len(text):
        state = stack[-1]
        if state == '"':
            if text[at] == "\\":
                at += 2
            elif text.startswith("${", at):
                stack.append("{")
                at += 2
            else:
                if text[at] == '"':
                    stack.pop()
                at += 1
        elif state == "''":
            if text.startswith("'''", at) or text.startswith("''$", at):
                at += 3
            elif text.startswith("''\\", at):
                at += 4
            elif text.startswith("''", at):
                stack.pop()
                at += 2
            elif text.startswith("${", at):
                stack.append("{")
                at += 2
            else:
                at += 1
        elif text[at] == '"':
            stack.append('"')
            at += 1
        elif text.startswith("''", at):
            stack.append("''")
            at += 2
        elif text[at] == "{":
            stack.append("{")
            at += 1
        elif text[at] == "}":
            if len(stack) > 1:
                stack.pop()
            at += 1
        elif text[at] == "#":
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            found.append((at, end))
            at = end
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            end = len(text) if end < 0 else end + 2
            found.append((at, end))
            at = end
        else:
            at += 1
    return found


def shell_comments(text):
    """Places (start, end) of whole-line comments of a shell script or of TOML, outside of
    here-documents."""
    at, found, until = 0, [], None
    for line in text.splitlines(keepends=True):
        if until is not None:
            if line.strip() == until:
                until = None
        elif line.lstrip().startswith("#") and not line.startswith("#!"):
            found.append((at + len(line) - len(line.lstrip()), at + len(line.rstrip("\n"))))
        else:
            here = re.search(r"<<-?\s*[\"']?(\w+)[\"']?", line)
            until = here.group(1) if here and "<<<" not in line else None
        at += len(line)
    return found


def python_comments(text):
    """Places (start, end) of the comments and docstrings of Python."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            start = starts[token.start[0] - 1] + token.start[1]
            found.append((start, start + len(token.string)))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, clean=False):
            value = node.body[0].value
            # NB: columns of ast are bytes; these lines are found again as characters.
            start = starts[value.lineno - 1] + len(text.splitlines()[value.lineno - 1].split('"""')[0])
            found.append((start, text.index('"""', start + 3) + 3))
    return sorted(found)


MARK = re.compile(r"//!|///(?!/)|//+|/\*\*?|#+")


def blocks(path, text):
    """The comments of a file; neighbouring lines with one mark are one comment."""
    suffix = path.suffix
    if suffix in SLASHES:
        places = slash_comments(text)
    elif suffix == ".nix":
        places = nix_comments(text)
    elif suffix == ".py":
        places = python_comments(text)
    elif suffix in HASHES:
        places = shell_comments(text)
    else:
        return []
    found = []
    for start, end in places:
        first = text.rfind("\n", 0, start) + 1
        number = text.count("\n", 0, start) + 1
        lead = text[first:start]
        body = text[start:end]
        mark = '"""' if body.startswith('"""') else MARK.match(body).group(0)
        if "\n" in body or mark in ("/*", "/**", '"""'):
            lines = inner_lines(number, lead, mark, body)
            if lines:
                found.append((mark, lead, Block(path, lines)))
            continue
        words = body[len(mark) :]
        space = len(words) - len(words.lstrip(" "))
        # One space belongs to the mark; more are the structure of the text.
        prefix = lead + mark + words[: min(space, 1)]
        line = Line(number, prefix, words[min(space, 1) :], bool(lead.strip()))
        if re.match(r"\s*shellcheck\b", words) or re.match(r"\s*noqa\b|\s*fmt:", words):
            continue
        last = found[-1] if found else None
        joins = (
            last
            and last[0] == mark
            and last[1] == lead
            and not line.trailing
            and last[2].lines[-1].number == number - 1
            and not last[2].lines[-1].trailing
        )
        if joins:
            last[2].lines.append(line)
        else:
            found.append((mark, lead, Block(path, [line])))
    return [block for _, _, block in found]


def inner_lines(number, lead, mark, body):
    """The lines of a comment with a mark at each end, such as Nix's `/** */`."""
    close = '"""' if mark == '"""' else "*/"
    lines = []
    content = body[len(mark) : -len(close)]
    for offset, words in enumerate(content.split("\n")):
        if offset == 0:
            prefix = lead + mark
        else:
            prefix = lead if words.startswith(lead) and not lead.strip() else ""
            if mark != '"""' and words.startswith(prefix + "  "):
                prefix += "  "
            elif mark != '"""' and words.startswith(prefix + " * "):
                prefix += " * "
            words = words[len(prefix) :]
        lines.append(Line(number + offset, prefix, words.rstrip() if words.strip() else ""))
    return lines


# A table, code, a heading, a quotation, a link, or columns: two spaces within a line.
STRUCTURE = re.compile(r"\||```|~~~|#|>|\[\^?\w+\]:|@|SPDX|\s{2,}\S|.*\S {2,}\S")
ITEM = re.compile(r"(?:[-*+:]|\d+[.)]) +")


def sentence(block):
    """The first sentence of a comment, without `NB:`."""
    text = re.sub(r"^NB:\s*", "", block.text)
    text = re.sub(r"`[^`]*`", "`x`", text)
    return re.split(r"(?<=[.!?;:])\s", text, maxsplit=1)[0]


# Verbs before an indirect question.
ASKS = re.compile(
    r"(?:say|tell|know|show|ask|decide|find|see|print|check|list|explain|mean|matter)s?|said|told|known|shown|asked|decided|"
    r"out|learn|guess|exactly|remember"
)
VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|may|must|does|do|did|will|would|should|need|\w{3,}(?:s|ed))\b"
)


def findings(block):
    """The rules that a comment breaks, as pairs of a line number and words."""
    found = []
    text = sentence(block)
    first = re.match(r"[A-Za-z']+", text)
    first = first.group(0) if first else ""
    number = block.lines[0].number
    if first in ("What", "Those", "That", "Of", "Nothing"):
        found.append((number, f"starts with {first!r}: name the subject"))
    elif re.match(r"All of (?:it|them)\b|None of (?:it|them)\b", text):
        found.append((number, "starts with a pronoun: name the subject"))
    elif first == "Whether" and not VERB.search(text[7:]):
        found.append((number, "'Whether' without a verb"))
    for match in re.finditer(r"\bwhat\b", text):
        before = re.findall(r"[\w`']+", text[: match.start()])
        if not before or not ASKS.fullmatch(before[-1]):
            found.append((number, "'what' as a noun: name the thing"))
            break
    for match in re.finditer(
        r"(?:\bor|[;,:]) nothing\b|\bnothing (?:if|for|where|when|unless|otherwise|elsewhere)\b", block.text
    ):
        found.append((number, f"{match.group(0).strip(' ,;:')!r}: say `None`, empty or false"))
        break
    for line in block.lines:
        # A table's row, an URL and a long word cannot be wrapped.
        fixed = line.words.startswith("|") or "://" in line.words or " " not in line.words.strip()
        if line.width > WIDTH and not fixed:
            found.append((line.number, f"{line.width} columns"))
    return found


NAMED_OF = {
    ".rs": re.compile(r"\bfn of\b"),
    ".nix": re.compile(r"^\s*of =", re.M),
    ".py": re.compile(r"\bdef of\b"),
    ".sh": re.compile(r"^of\(\)", re.M),
}


def name_findings(path, text):
    """The functions of a file that are called `of`."""
    pattern = NAMED_OF.get(path.suffix)
    for match in pattern.finditer(text) if pattern else ():
        yield text.count("\n", 0, match.end()) + 1, "a function called `of`: say what it returns"


def paragraphs(block):
    """Runs of lines of a comment that can be wrapped: (first, last, indentation of later lines)."""
    fenced, start, hang = False, None, ""
    for index, line in enumerate(block.lines):
        words = line.words
        fence = words.lstrip().startswith(("```", "~~~"))
        item = ITEM.match(words)
        within = start is not None and bool(hang) and words.startswith(hang) and words.strip()
        if fence:
            fenced = not fenced
        structural = fenced or fence or line.trailing or not words.strip()
        if not structural and not item and not within and STRUCTURE.match(words):
            structural = True
        # A note is a paragraph of its own.
        ends = structural or item or words.startswith("NB:")
        ends = ends or (start is not None and bool(hang) and not within)
        if ends and start is not None:
            yield start, index - 1, hang
            start = None
        if not structural and start is None:
            start, hang = index, " " * len(item.group(0)) if item else ""
    if start is not None:
        yield start, len(block.lines) - 1, hang


def wrap(path):
    """Wraps the long paragraphs of a file; returns the lines that only a person can shorten."""
    text = path.read_bytes().decode()
    if "\r" in text:
        return [f"{path}: has other line ends"]
    lines = text.split("\n")
    left = []
    for block in reversed(blocks(path, text)):
        for start, end, hang in reversed(list(paragraphs(block))):
            run = block.lines[start : end + 1]
            if all(line.width <= WIDTH for line in run):
                continue
            first, last = run[0], run[-1]
            quote = first.prefix.endswith('"""')
            # Later lines of a docstring, or of a comment in one pair of marks, have no mark.
            later = re.sub(r'"""$|/\*\*? ?$', "", first.prefix) if quote or "/*" in first.prefix else first.prefix
            tail = lines[last.number - 1][len(last.prefix) + len(last.words) :].rstrip()
            words = " ".join(line.words.strip() for line in run)
            wrapped = textwrap.wrap(
                words + tail,
                WIDTH,
                initial_indent=first.prefix,
                subsequent_indent=later + hang,
                break_long_words=False,
                break_on_hyphens=False,
            )
            risky = [line for line in wrapped[1:] if ITEM.match(line[len(later + hang) :])]
            risky += [line for line in wrapped[1:] if STRUCTURE.match(line[len(later + hang) :])]
            if risky or not words:
                left.append(f"{path}:{first.number}: cannot be wrapped without a change of its structure")
                continue
            lines[first.number - 1 : last.number] = wrapped
    wrapped = "\n".join(lines)
    if wrapped != text:
        path.write_text(wrapped)
    return left


def tracked(paths):
    """The files that git knows below some paths, in order."""
    command = ["git", "ls-files", "-z", "--", *paths]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = [Path(name) for name in output.split("\0") if name]
    # NB: fixtures and the corpus stand for files of other people.
    foreign = ("fixtures", "corpus")
    kept = [path for path in files if not any(part in foreign or part.endswith(".in") for part in path.parts)]
    return [path for path in kept if path.suffix in SLASHES | HASHES | {".nix", ".py"} and (ROOT / path).is_file()]


def names(path, text):
    """The names of a file that a reader meets: items of Rust, and functions of Nix."""
    if path.suffix == ".rs":
        pattern = r"^\s*(?:pub(?:\([^)]*\))? )?(?:const |async )*(fn|struct|enum|trait|type|const|static|mod) (\w+)"
    elif path.suffix == ".nix":
        pattern = r"^\s*()([\w-]+) =(?=\s*(?:[\w-]+:|\{[^}]*\}\s*:|\{[^}=]*\}@))"
    else:
        return
    for match in re.finditer(pattern, text, re.M):
        number = text.count("\n", 0, match.start(2)) + 1
        yield f"{path}:{number}: {match.group(1)} {match.group(2)}".replace(":  ", ": ")


def print_sample(files, count, name_count, seed):
    """Prints random comments and names. The same tree and seed give the same."""
    comments, found = [], []
    for path in files:
        text = (ROOT / path).read_text()
        comments += blocks(path, text)
        found += names(path, text)
    chance = random.Random(seed)
    for block in chance.sample(comments, min(count, len(comments))):
        print(f"{block.place}\n    {block.text}")
    print()
    print("\n".join(chance.sample(found, min(name_count, len(found)))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--check", action="store_true", help="exit 1 if there are findings")
    parser.add_argument("--wrap", action="store_true", help="wrap long paragraphs of the files")
    parser.add_argument("--sample", type=int, metavar="N", help="print N random comments")
    parser.add_argument("--names", type=int, metavar="M", help="print M random names with the sample")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    files = tracked(options.paths or FOLDERS)
    if options.sample is not None:
        count = options.sample // 2 if options.names is None else options.names
        print_sample(files, options.sample, count, options.seed)
        return 0
    if options.wrap:
        left = [line for path in files for line in wrap(ROOT / path)]
        print("\n".join(left), end="\n" if left else "")
        return 0
    total = 0
    for path in files:
        text = (ROOT / path).read_text()
        found = [finding for block in blocks(path, text) for finding in findings(block)]
        for number, words in sorted(found + list(name_findings(path, text))):
            total += 1
            print(f"{path}:{number}: {words}")
    print(f"{total} findings", file=sys.stderr)
    return 1 if options.check and total else 0


if __name__ == "__main__":
    sys.exit(main())
