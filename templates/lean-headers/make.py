"""Lean headers of torch: umbrella headers that include what a source names, and no more.

    python3 make.py TORCH_INCLUDE... OUT

TORCH_INCLUDE are the folders of headers of one torch release, in the order of a compiler's search.
OUT gets two things:

    include/  torch's umbrella headers without their includes, to be searched before torch's own.
              Each includes `lean/NAME`, which select.awk writes for one source.
    index     the names that each header of torch declares, as select.awk reads them.

The text of every other header stays torch's own, so a source can only differ by a declaration that
it does not see. A declaration that it names is selected. Standard headers, and operators of types
that every source sees, are always there.

Headers are read as text, and every branch of a conditional counts. A header whose text cannot be
followed declares every identifier in it. The program needs Python 3.9 alone.
"""

import re
import sys
from pathlib import Path

# Headers that include hundreds of others, from the innermost to the outermost: each reaches the
# ones before it.
UMBRELLAS = [
    "ATen/Functions.h",
    "ATen/ATen.h",
    "torch/types.h",
    "torch/all.h",
    "torch/extension.h",
]
# More headers with the declarations of all operators. A header that includes one of these, or one
# of UMBRELLAS, cannot be included alone.
COLLECTIONS = UMBRELLAS + ["ATen/NativeFunctions.h", "ATen/Operators.h", "torch/torch.h"]
# Headers that include a collection for a few headers of it, with these.
SELF_SUFFICIENT = {"torch/utils.h": ["ATen/Context.h", "ATen/ops/equal.h"]}
# Names that every source sees and whose use takes more than the source sees, with the headers of that.
INCOMPLETE = {
    "PYBIND11_MODULE": "pybind11/pybind11.h",
    "grad_fn": "torch/csrc/autograd/function.h",
    "index": "ATen/TensorIndexing.h",
    "index_put_": "ATen/TensorIndexing.h",
}
# The header of the class ITensorListRef, which headers of operators only declare.
TENSOR_LISTS = "ATen/core/IListRef.h"
# The headers that every source sees: the tensor class, and headers that functions of
# ATen/Functions.h need.
BASE = ["ATen/core/Tensor.h", "ATen/core/LegacyTypeDispatch.h"]
# The header that includes the compiler's intrinsics, and the standard header that gcc's intrinsics
# include on x86-64: it brings overloads such as `abs(float)` into the global namespace.
INTRINSICS = "c10/util/ApproximateClock.h"
OF_INTRINSICS = "stdlib.h"
WITH_INTRINSICS = "defined(__x86_64__) && !defined(__clang__)"
BASE_OPERATORS = [f"ATen/ops/{name}.h" for name in ("from_blob", "std", "std_mean", "tensor", "var", "var_mean")]
# The headers that every source of torch/extension.h sees: Python's, with the system's headers that
# these include, and pybind11's macros.
PYTHON = ["torch/csrc/python_headers.h", "pybind11/detail/typeid.h"]
# Headers that include the headers of many operators.
OPERATORS = ["ATen/TensorOperators.h", "torch/csrc/autograd/generated/variable_factories.h"]
# Headers that headers of operators include and do not use. They cost more than the tensor class.
UNUSED = ["ATen/Context.h", "ATen/DeviceGuard.h"]
# Other headers of torch that include one of UNUSED only for those who rely on that.
INCLUDERS_OF_UNUSED = ["ATen/cuda/CUDAContext.h", "ATen/hip/HIPContext.h"]
# The macro that leaves UNUSED out.
WITHOUT_UNUSED = "KERNEL_BUILDER_OPERATORS"
# The header of `device_of`, which most CUDA sources name. Its overload for lists of tensors needs
# headers that cost more than all others, so it is there if `lean/lists.h` defines LISTS.
DEVICE_OF = "ATen/DeviceGuard.h"
LISTS = "KERNEL_BUILDER_LISTS"
# The macro with which torch's own headers include single operators instead of a collection.
SINGLE_OPERATORS = "AT_PER_OPERATOR_HEADERS"
# Namespaces in which the compiler looks for functions by the types of their arguments, so that a
# source need not write them.
OPEN_NAMESPACES = ["", "at", "c10", "std"]
# The folder of the C++ frontend. It lies in the first folder of headers, and is searched itself.
FRONTEND = "torch/csrc/api/include/"
# Folders of libraries that come with torch. Types of torch are no arguments of their operators.
LIBRARIES = ("fmt/", "pybind11/")

DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)(?:\\\n|[^\n])*", re.M)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]')
GUARD = re.compile(r"^[ \t]*#[ \t]*(pragma[ \t]+once\b|ifndef[ \t]+(\w+)\s+#[ \t]*define[ \t]+\2\b)", re.M)
COMMENT = re.compile(r"//(?:\\\n|[^\n])*|/\*.*?\*/", re.S)
# A comment, a literal or an attribute.
NO_DECLARATION = re.compile(
    COMMENT.pattern + r"""|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'|\[\[.*?\]\]""",
    re.S,
)
NAMESPACE_BEGIN = re.compile(r"\w+_NAMESPACE_BEGIN\(([^)]*)\)")
NAMESPACE_END = re.compile(r"\w+_NAMESPACE_END\([^)]*\)")
TOKEN = re.compile(r"[A-Za-z_]\w*|::|->|&&|[^\s\w]")
NAME = re.compile(r"[A-Za-z_]\w*\Z")
MACRO = re.compile(r"[A-Z0-9]+_[A-Z0-9_]+\Z")
STANDARD_HEADER = re.compile(
    r"[a-z_]+\Z|(assert|ctype|errno|float|limits|locale|math|setjmp|signal|stdarg|stddef|stdint|stdio|stdlib|string|time)\.h\Z"
)
CLASS_KEYS = ("class", "enum", "struct", "union")
# Words that are no names: keywords, and torch's namespaces.
KEYWORDS = frozenset(
    {
        "__attribute__",
        "__device__",
        "__host__",
        "alignas",
        "at",
        "auto",
        "bool",
        "c10",
        "char",
        "class",
        "const",
        "constexpr",
        "decltype",
        "default",
        "defined",
        "delete",
        "double",
        "enum",
        "explicit",
        "extern",
        "false",
        "final",
        "float",
        "friend",
        "if",
        "inline",
        "int",
        "long",
        "mutable",
        "namespace",
        "noexcept",
        "nullptr",
        "operator",
        "private",
        "protected",
        "public",
        "requires",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "static_assert",
        "struct",
        "template",
        "this",
        "torch",
        "throw",
        "true",
        "typedef",
        "typename",
        "union",
        "unsigned",
        "using",
        "virtual",
        "void",
        "volatile",
        "while",
    }
)


class Header:
    """The names that a header declares, and the names of the headers that it includes.

    `includes` are of all branches, `single_includes` of those for SINGLE_OPERATORS, and
    `certain_includes` stand in no branch. `declared` are pairs of the innermost namespace and the
    name. The name of an operator is `operator` and the names of its declaration, with blanks.
    """

    def __init__(self, text):
        # Whether it may be included twice. If not, it is a part of the header that includes it.
        self.is_guarded = GUARD.search(text) is not None
        self.includes = []
        self.single_includes = []
        self.certain_includes = []
        self.declared = set()
        self._read_directives(COMMENT.sub(" ", text))
        code = NO_DECLARATION.sub(lambda match: '""' if match[0][0] in 'R"' else " ", text)
        self._read_declarations(DIRECTIVE.sub(" ", code))

    def _read_directives(self, text):
        # For each open conditional, whether its branch is that of SINGLE_OPERATORS, and whether
        # every compilation reads it.
        branches = []
        for match in DIRECTIVE.finditer(text):
            directive, line = match[1], match[0]
            if directive in ("if", "ifdef", "ifndef"):
                without = SINGLE_OPERATORS in line and ("ndef" in directive or "!" in line)
                is_guard = re.search(r"ifndef\s+\w+_H_*\s*$|TORCH_STABLE_ONLY", line)
                branches.append((not without, is_guard or SINGLE_OPERATORS in line and not without))
            elif directive in ("elif", "else") and branches:
                is_single, _ = branches.pop()
                branches.append((True, not is_single))
            elif directive == "endif" and branches:
                branches.pop()
            elif directive == "define":
                self.declared.update(("", name) for name in re.findall(r"define\s+(\w+)", line)[:1])
                # A list of symbols, of which a macro makes namespaces.
                self.declared.update((name, "namespace") for name in re.findall(r"\(namespaces, (\w+)\)", line))
                if re.search(r"\boperator\b", line):
                    self.declared.add(("", "operator"))
            elif directive == "include" and INCLUDE.match(line):
                name = INCLUDE.match(line)[1]
                self.includes.append(name)
                if all(is_single for is_single, _ in branches):
                    self.single_includes.append(name)
                if all(is_certain for _, is_certain in branches):
                    self.certain_includes.append(name)

    def _read_declarations(self, text):
        text = NAMESPACE_BEGIN.sub(lambda match: f" namespace {_namespace(match[1])} {{ ", text)
        text = NAMESPACE_END.sub("}", text)
        text = text.replace("FMT_BEGIN_NAMESPACE", "namespace fmt {").replace("FMT_END_NAMESPACE", "}")
        tokens = TOKEN.findall(text)
        found = _declarations(tokens)
        if found is None:
            found = [("", token) for token in tokens if NAME.match(token)]
        self.declared.update((space, name) for space, name in found if name not in KEYWORDS)


def _namespace(arguments):
    """The namespace that a macro opens."""
    return arguments.replace(",", "::").replace("PYBIND11_NAMESPACE", "pybind11")


def _closing(tokens, opening):
    """The index of the brace that closes the one at an index; None if there is none."""
    depth = 0
    for at in range(opening, len(tokens)):
        depth += (tokens[at] == "{") - (tokens[at] == "}")
        if depth == 0:
            return at
    return None


def _declarations(tokens):
    """The declarations at namespace scope, as in `Header.declared`; None if brackets do not match."""
    found = []
    namespaces = [""]
    # The number of names of each open namespace.
    opened = []
    declaration = []
    parentheses = 0
    at = 0
    while at < len(tokens):
        token = tokens[at]
        parentheses += (token == "(") - (token == ")")
        if token == "{":
            names = _opened_namespaces(declaration)
            if names is not None:
                namespaces += names
                opened.append(len(names))
            else:
                end = _closing(tokens, at)
                if end is None:
                    return None
                body = tokens[at + 1 : end]
                at = end
                if parentheses > 0:
                    # A default argument.
                    at += 1
                    continue
                found += [(namespaces[-1], name) for name in _declared_names(declaration, body)]
            declaration = []
        elif token == "}":
            if not opened or parentheses != 0:
                return None
            del namespaces[len(namespaces) - opened.pop() :]
            declaration = []
        elif token == ";" and parentheses == 0:
            found += [(namespaces[-1], name) for name in _declared_names(declaration, None)]
            declaration = []
        else:
            declaration.append(token)
        at += 1
    return None if opened or parentheses != 0 else found


def _opened_namespaces(tokens):
    """The names of the namespaces that tokens before a brace open; None if they open no scope."""
    if tokens == ["extern", '"', '"']:
        return []
    if "namespace" not in tokens:
        return None
    # Macros may stand before it.
    at = len(tokens) - 1 - tokens[::-1].index("namespace")
    names = [token for token in tokens[at + 1 :] if token != "::"]
    if not all(NAME.match(name) for name in names):
        return None
    return [] if tokens[at - 1 : at] == ["inline"] else names


def _without_template(tokens):
    while tokens[:2] == ["template", "<"]:
        parentheses = angles = 0
        rest = iter(tokens)
        for token in rest:
            parentheses += (token == "(") - (token == ")")
            if parentheses == 0:
                angles += (token == "<") - (token == ">")
                if token == ">" and angles == 0:
                    break
        tokens = list(rest)
    return tokens


def _declared_names(tokens, body):
    """The names that a declaration declares. `body` is between its braces, or None."""
    tokens = _without_template(tokens)
    while tokens and tokens[0] in ("constexpr", "extern", "friend", "inline", "static", '"'):
        tokens = tokens[1:]
    names = [token for token in tokens if NAME.match(token)]
    if not names or names[:2] == ["using", "namespace"]:
        return []
    if tokens[0] == "using":
        if "=" in tokens:
            return [tokens[1]]
        # NB: torch sees all names of at and c10, so an alias of one of their types adds no name. A
        # function's alias hides outer functions.
        return [] if names[1] in ("at", "c10") and names[-1][0].isupper() else names[-1:]
    if tokens[0] == "namespace":
        return [name + "::" for name in names[1:2]]
    if tokens[0] == "typedef":
        return names[-1:] if tokens[-1] == names[-1] else names
    if tokens[0] in CLASS_KEYS and body is None and len(names) == len(tokens):
        # The definition is elsewhere, and declares the name.
        return []
    if tokens[0] in CLASS_KEYS and (body is not None or "(" not in tokens):
        return _class_names(tokens, body)
    if "operator" in tokens:
        return ["operator " + " ".join(names)]
    return _function_names(tokens, body)


def _class_names(tokens, body):
    declared = []
    parentheses = 0
    for token, after in zip(tokens[1:], tokens[2:] + [":"]):
        parentheses += (token == "(") - (token == ")")
        if parentheses == 0 and token in (":", "<"):
            break
        if parentheses == 0 and NAME.match(token) and not MACRO.match(token) and after != "::":
            declared.append(token)
    if tokens[0] == "enum" and tokens[1:2] not in (["class"], ["struct"]) and body is not None:
        following = zip(body, body[1:] + ["}"])
        declared += [token for token, after in following if NAME.match(token) and after in ",=}"]
    return declared


def _function_names(tokens, body):
    """The names of functions and variables: a name before a parenthesis, `=`, `,` or the end."""
    declared = []
    depth = angles = 0
    for at, token in enumerate(tokens + ([";"] if body is None else [])):
        before = tokens[at - 1] if at else ""
        # A member that is defined outside of its class is declared there.
        is_new = NAME.match(before) and not (at > 1 and tokens[at - 2] == "::")
        if depth == 0 and angles <= 0 and token in "([=,;" and is_new:
            declared.append(before)
        if token in "([":
            depth += 1
        elif token in ")]":
            depth -= 1
        elif depth == 0 and token in "<>":
            angles += 1 if token == "<" else -1
        elif depth == 0 and token == "=":
            break
    if tokens[1:2] == ["("] and len(declared) == 1 and tokens[0] not in KEYWORDS:
        # A macro, which may declare any of its arguments.
        declared += [token for token in tokens if NAME.match(token)]
    return declared


class Release:
    """The headers of a torch release. A name is one that an `#include` finds."""

    def __init__(self, folders):
        self._folders = folders
        self._found = {}
        self._headers = {}
        self._texts = {}
        self._included = {}
        self._names_of_at = {}
        self._includes_of = {}

    def find(self, name, includer=""):
        """The name of an included header; None if torch has no such header."""
        folder = includer.rpartition("/")[0]
        if (name, folder) not in self._found:
            self._found[name, folder] = self._search(name, folder)
        return self._found[name, folder]

    def _search(self, name, folder):
        for root in self._folders:
            if (root / name).is_file():
                return name[len(FRONTEND) :] if name.startswith(FRONTEND) else name
        for root in self._folders:
            path = root / folder / name
            if folder and path.is_file():
                return self.find(path.resolve().relative_to(root.resolve()).as_posix())
        return None

    def text(self, name):
        if name not in self._texts:
            paths = (root / name for root in self._folders)
            path = next(path for path in paths if path.is_file())
            self._texts[name] = path.read_text(errors="replace")
        return self._texts[name]

    def header(self, name):
        if name not in self._headers:
            self._headers[name] = Header(self.text(name))
        return self._headers[name]

    def reached(self, names, kind, without=()):
        """The headers that some headers reach, with themselves, in a compiler's order.

        `kind` is the attribute of `Header` with the includes to follow.
        """
        reached = {}
        todo = [name for name in reversed(names) if self.find(name)]
        while todo:
            name = todo.pop()
            if name in reached:
                continue
            reached[name] = True
            todo += [include for include in reversed(self.included(name, kind)) if include not in without]
        return reached

    def included(self, name, kind):
        """The headers of torch that a header includes, of one kind, in its order."""
        if (name, kind) not in self._included:
            found = (self.find(include, name) for include in getattr(self.header(name), kind))
            self._included[name, kind] = [include for include in found if include]
        return self._included[name, kind]

    def names_of_at(self, name):
        """The names of namespace at that a header uses."""
        if name not in self._names_of_at:
            self._names_of_at[name] = set(re.findall(r"\bat::(\w+)", self.text(name)))
        return self._names_of_at[name]

    def certain_includers(self, name, reached, certain):
        """A header if it is among those that every compilation reaches, else the ones of these that
        include it, maybe through others."""
        found = {}
        seen = set()
        todo = [name]
        while todo:
            header = todo.pop()
            if header in certain and header not in COLLECTIONS:
                found[header] = True
            elif header not in seen:
                seen.add(header)
                todo += [includer for includer in reached if header in self._includes(includer)]
        return found

    def _includes(self, name):
        """The headers of torch that a header includes."""
        if name not in self._includes_of:
            found = {self.find(include, name) for include in self.header(name).includes}
            self._includes_of[name] = found
        return self._includes_of[name]

    def standard_headers(self, name):
        """The headers of the standard library that a header reaches in every compilation."""
        found = {}
        for reached in self.reached([name], "certain_includes"):
            for include in self.header(reached).certain_includes:
                if STANDARD_HEADER.match(include) and not self.find(include, reached):
                    found[include] = True
        return found

    def needed(self, name):
        """Headers that a header needs and does not include, or includes a collection for."""
        if name in SELF_SUFFICIENT:
            return SELF_SUFFICIENT[name]
        needed = [TENSOR_LISTS] if _is_of_operators(name) and "ITensorListRef" in self.text(name) else []
        return needed + self._needed_of_unused(name) if name in OPERATORS else needed

    def _needed_of_unused(self, name):
        """Headers that a header of operators reaches through UNUSED alone, and uses a name of."""
        reached = self.reached([name], "single_includes", without=UNUSED)
        used = set().union(*map(self.names_of_at, reached))
        return [
            header
            for header in self.reached(UNUSED, "single_includes", without=[*COLLECTIONS, *reached])
            if any(space == "at" and declared in used for space, declared in self.header(header).declared)
        ]

    def collectors(self, names):
        """The headers among some that reach a collection, even with SINGLE_OPERATORS."""
        includers = {}
        for name in names:
            if name not in SELF_SUFFICIENT:
                for include in self.header(name).single_includes:
                    includers.setdefault(self.find(include, name), []).append(name)
        collectors = set()
        todo = list(COLLECTIONS)
        while todo:
            for name in includers.get(todo.pop(), []):
                if name not in collectors:
                    collectors.add(name)
                    todo.append(name)
        return collectors


def make(release, out):
    base = release.reached(BASE, "certain_includes")
    base.update(release.reached(BASE_OPERATORS, "certain_includes", without=UNUSED))
    base_of_python = release.reached(PYTHON, "certain_includes")
    names_of_base = {name for header in base for _, name in release.header(header).declared}
    # The innermost umbrella that reaches a header.
    umbrellas = {}
    # The headers to include for a header that only some compilations reach.
    substitutes = {}
    for umbrella in UMBRELLAS:
        reached = release.reached([umbrella], "includes")
        certain = release.reached([umbrella], "certain_includes")
        certain = {name for name in certain if release.header(name).is_guarded}
        for name in reached:
            is_always = name in base or umbrella == UMBRELLAS[-1] and name in base_of_python
            if not is_always and name not in COLLECTIONS and name not in umbrellas:
                umbrellas[name] = umbrella
                substitutes[name] = release.certain_includers(name, reached, certain)
    collectors = release.collectors(umbrellas)
    names_of_others = {
        name
        for header in umbrellas
        for space, name in release.header(header).declared
        if space in OPEN_NAMESPACES and name not in names_of_base
    }

    index = [f"{_stem(name)} - - umbrella {name}" for name in UMBRELLAS]
    always = {name: [] for name in UMBRELLAS}
    if INTRINSICS in umbrellas:
        always[umbrellas[INTRINSICS]].append(OF_INTRINSICS)
    always[UMBRELLAS[0]] += BASE + BASE_OPERATORS
    always[UMBRELLAS[-1]] += PYTHON
    for header, umbrella in umbrellas.items():
        for substitute in substitutes[header]:
            kind = "other"
            if substitute in collectors or umbrella == UMBRELLAS[-1]:
                kind = "full"
            elif _is_of_operators(substitute):
                kind = "operators"
            for space, name in sorted(release.header(header).declared):
                is_open = space in OPEN_NAMESPACES
                if not name.startswith("operator"):
                    fields = (_stem(umbrella), "-" if is_open else space, name)
                    for needed in release.needed(substitute):
                        of_needed = "operators" if _is_of_operators(needed) else "other"
                        index.append(" ".join((*fields, of_needed, needed)))
                    index.append(" ".join((*fields, kind, substitute)))
                # An operator of types that every source sees.
                elif (
                    is_open
                    and kind != "full"
                    and not header.startswith(LIBRARIES)
                    and names_of_others.isdisjoint(name.split())
                ):
                    always[umbrella].append(substitute)
    for name, header in INCOMPLETE.items():
        if header in umbrellas:
            kind = "full" if umbrellas[header] == UMBRELLAS[-1] else "other"
            index.append(f"{_stem(umbrellas[header])} - {name} {kind} {header}")
    _write(out / "index", index)

    include = out / "include"
    for umbrella in UMBRELLAS:
        headers = dict.fromkeys([*release.standard_headers(umbrella), *always[umbrella]])
        _write(include / "lean/always" / (_stem(umbrella) + ".h"), _include_lines(headers))
        _write(include / umbrella, _lean_lines(release, umbrella))
        if umbrella.startswith("torch/"):
            _write(include / (FRONTEND + umbrella), [f"#include <{umbrella}>"])
    for name in filter(release.find, INCLUDERS_OF_UNUSED):
        _write(include / name, _without_unused(f"#include_next <{name}>"))
    for name in UNUSED:
        text = [f"#include_next <{name}>"]
        if name == DEVICE_OF:
            text = [
                "#include <lean/lists.h>",
                "#ifdef " + LISTS,
                *text,
                "#else",
                *_without_lists(release.text(name)),
                "#endif",
            ]
        _write(include / name, ["#ifndef " + WITHOUT_UNUSED, *text, "#endif"])


def _stem(umbrella):
    return Path(umbrella).stem


def _is_of_operators(name):
    return name.startswith("ATen/ops/") or name in OPERATORS


def _include_lines(headers):
    lines = []
    for header in headers:
        line = f"#include <{header}>"
        if header == OF_INTRINSICS:
            line = f"#if {WITH_INTRINSICS}\n{line}\n#endif"
        lines += _without_unused(line) if _is_of_operators(header) else [line]
    return lines


def _without_unused(line):
    return ["#define " + WITHOUT_UNUSED, line, "#undef " + WITHOUT_UNUSED]


def _without_lists(text):
    """The lines of a header without the functions that take a list of tensors."""
    text = re.sub(r"^inline [^;{}]*\(ITensorListRef \w+\) {\n(.+\n)*?}\n", "", text, flags=re.M)
    lines = text.splitlines()
    return lines if "ITensorListRef" in text else [line for line in lines if TENSOR_LISTS not in line]


def _lean_lines(release, umbrella):
    """The lines of an umbrella header, each at its number, with a unit's headers as its own."""
    lines = []
    unit = f"#include <lean/{_stem(umbrella)}.h>"
    for line in release.text(umbrella).splitlines():
        match = INCLUDE.match(line)
        if match and match[1] not in UMBRELLAS and release.find(match[1], umbrella):
            line, unit = unit, ""
        lines.append(line)
    return lines


def _write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines))


if __name__ == "__main__":
    make(Release([Path(folder) for folder in sys.argv[1:-1]]), Path(sys.argv[-1]))
