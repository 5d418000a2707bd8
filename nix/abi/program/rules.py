"""The rules for native files. Each finding names the rule, the file, the symbol if there is one,
what is wrong, and the cure."""

import re

from elf import GLOBAL, UNIQUE, WEAK
from tables import read_shim, read_table, release_key

PYTHON = re.compile(r"_?Py")
OPENMP = re.compile(r"(GOMP|omp)_")
# The names of the interfaces of NVIDIA's libraries.
CUDA = re.compile(
    r"((__)?cuda|cu|cublas\w*|cudnn|cufft|cupti|curand|cusolver\w*|cusparse\w*|p?nccl|nvrtc|nvshmem\w*)[A-Z_]"
)
# The path of a store, and those of the folders in which Nix builds.
PATHS = re.compile(rb"(/nix/store/[0-9a-z]{32}-|(/private)?/tmp/nix-build-|(?<![\w.~@%+/-])/build/)[\x21-\x7e]*")

# Libraries that are there when a kernel is loaded, besides those of the policy.
CUDA_LIBRARIES = (
    r"lib(cuda|cudart|cublas|cublasLt|cudnn\w*|cufft|cufile|cupti|curand|cusolver|cusolverMg|cusparse"
    r"|cusparseLt|nccl|nvJitLink|nvToolsExt|nvrtc|nvshmem_host)\.so(\.[\d.]+)?"
)
LIBRARIES = {
    "torch": r"lib(c10|torch|torch_cpu|torch_python|shm)\.so",
    "torch-stable-abi": r"lib(c10|torch|torch_cpu|torch_python)\.so",
    "tvm-ffi": r"libtvm_ffi\.so",
    "cuda": CUDA_LIBRARIES + r"|lib(c10_cuda|torch_cuda|torch_cuda_linalg|torch_nvshmem)\.so",
    "rocm": r"lib(amdhip64|hsa-runtime64|hip\w+|roc\w+|MIOpen|rccl|amd_comgr)\.so(\.[\d.]+)?"
    r"|lib(c10_hip|torch_hip)\.so",
    "xpu": r"lib(sycl|OpenCL|ze_loader|ur_loader|mkl_\w+|dnnl|pti_view|imf|svml|irng|intlc|onemkl\w*"
    r"|ccl)\.so(\.[\d.]+)?|lib(c10_xpu|torch_xpu)\.so",
}
MAC_LIBRARIES = re.compile(
    r"/usr/lib/.*|/System/Library/.*|@(rpath|loader_path)/lib(torch\w*|c10\w*|tvm_ffi|shm)\.dylib"
)

CURES = {
    "malformed-file": "build or download the file again",
    "architecture": "put the file into the variant of its system",
    "needed-library": "link the library statically (its lib*.a), or leave it out",
    "symbol-version": "build it with kernel-builder or in a manylinux image, whose libraries are old enough",
    "run-path": "link without -rpath, or remove it: patchelf --remove-rpath FILE",
    "path": "compile with -ffile-prefix-map=FOLDER=, and link nothing by its path",
    "executable-stack": 'link with -Wl,-z,noexecstack; end assembly files with .section .note.GNU-stack,"",@progbits',
    "text-relocations": "compile every object with -fPIC; use no absolute addresses in assembly",
    "limited-api": "use a function of Python's limited API, and compile with Py_LIMITED_API=0x03090000",
    "stable-abi": "use torch/csrc/stable instead of ATen, or build for each torch release",
    "undefined-symbol": "is a source file missing from build.toml?",
    "exported-symbol": "rename the function, or declare it static",
    "unique-symbol": "compile with -fno-gnu-unique",
    "macos-version": "compile with -mmacosx-version-min=15.0",
}
PYTHON_BINDING_CURE = "libtorch_python.so, which kernels are not linked with, defines them: use torch's C++ types"
CUDA_CURE = "CUDA's libraries are there in CUDA variants only: move the source to a section of CUDA"


class Finding:
    """A rule that a file breaks. `details` are lines about it: who needs the symbol, what is near."""

    def __init__(self, rule, message, symbol=None, details=(), cure=None):
        self.rule, self.message, self.symbol = rule, message, symbol
        self.details, self.cure = list(details), cure or CURES[rule]


class Expectations:
    """The promises and names that a file is judged by.

    variant: a `Variant`, or None for a file that belongs to none. policy: a `Policy`. names: a
    `NameList` of libraries that are there when the file is loaded. is_whole: whether names of torch
    are judged by it, instead of by their shapes. options: those of check.py. defined: names that
    other libraries of the link define."""

    def __init__(self, variant, policy, names, is_whole, options):
        self.variant, self.policy, self.names, self.is_whole = variant, policy, names, is_whole
        self.python, self.macos, self.is_link = options.python, options.macos, options.link
        self.openmp, self.defined = options.openmp, set()
        self.hints = 100
        for file in options.defined:
            self.defined.update(file.read_text().split())
        self.limited_api = read_table("python")["added"]
        self.libc = set(read_table("libc")["names"])
        is_stable = variant is not None and variant.framework == "torch-stable-abi"
        self.shim = read_shim(options.shim) if is_stable else {}
        self.shapes = {
            key: re.compile("|".join(f"(?:{shape})" for shape in shapes))
            for key, shapes in read_table("shapes")["shapes"].items()
        }

    def classes(self, needed):
        """The classes of names that the loader finds for a file with some needed libraries."""
        found = {"torch", "tvm-ffi"}
        if self.variant.backend == "cuda":
            found |= {"torch-cuda"} | self.libraries(needed)
        if "libtorch_python.so" in needed:
            found.add("torch-python")
        # The link knows which functions of OpenMP its objects may use.
        return found if self.is_link else found | {"openmp"}

    def libraries(self, needed):
        """The listed libraries of NVIDIA's that the loader finds: those that torch or the file
        needs, and all if nobody knows what torch needs."""
        if not self.names.loaded:
            return self.names.libraries
        return self.names.loaded | {name.partition(".so")[0] for name in needed}

    def has_shape(self, name, needed):
        """Whether a name may be one of a library without a list."""
        keys = [self.variant.framework]
        if self.variant.backend != "cuda":
            keys.append(self.variant.backend)
        else:
            if "libcublas" not in self.names.libraries:
                keys.append("cuda")
            if "libcudnn" not in self.names.libraries:
                keys.append("torch-nvidia")
            # The driver is that of the machine.
            if any(library.startswith("libcuda.so") for library in needed):
                keys.append("cuda-driver")
        if self.variant.framework == "torch" and not self.is_whole:
            keys += ["torch-unlisted", "torch-c-unlisted"]
            if not self.is_link:
                keys.append("openmp")
        if "libtorch_python.so" in needed:
            keys.append("torch-python")
        return any(self.shapes[key].match(name) for key in keys if key in self.shapes)


def check_bytes(data):
    """Paths of the machine that built a file."""
    paths = set()
    for match in PATHS.finditer(data):
        paths.add(match.group()[:200].decode("ascii", "replace"))
        if len(paths) == 5:
            break
    return [Finding("path", f"it holds the path {path}") for path in sorted(paths)]


def check_machine(machine, expected):
    variant = expected.variant
    if variant is None:
        return []
    if variant.framework is None:
        return [Finding("architecture", f"a variant for every system holds code for {machine}")]
    if machine != variant.machine:
        return [Finding("architecture", f"it is for {machine}, its variant for {variant.system}")]
    return []


def check_elf(elf, expected, is_abi3):
    """The findings of a library or a program for Linux."""
    findings = check_machine(elf.machine, expected) + check_bytes(elf.data)
    if not elf.dynamic:
        return findings
    findings += check_loading(elf, expected)
    symbols = elf.symbols()
    findings += check_versions(elf, symbols, expected)
    findings += check_undefined(symbols, elf.needed, expected, is_abi3)
    findings += check_exports(symbols, expected)
    return findings


def check_loading(elf, expected):
    """Run paths, stack, relocations, and the libraries that are needed."""
    findings = [Finding("run-path", f"it looks for libraries in {path}") for path in elf.run_paths]
    if elf.stack != "plain":
        why = "asks for" if elf.stack == "executable" else "does not say that it needs no"
        findings.append(Finding("executable-stack", f"it {why} executable stack"))
    if elf.has_text_relocations:
        findings.append(Finding("text-relocations", "the loader has to write into its code"))
    variant = expected.variant
    for name in elf.needed:
        keys = [variant.framework, variant.backend] if variant else LIBRARIES
        known = (LIBRARIES[key] for key in keys if key in LIBRARIES)
        is_loader = name.startswith(("ld-linux", "ld64.so."))
        if is_loader or name in expected.policy.libraries or any(re.fullmatch(one, name) for one in known):
            continue
        is_cuda = re.fullmatch(LIBRARIES["cuda"], name)
        message = f"it needs {name}, which machines that load it need not have"
        findings.append(Finding("needed-library", message, name, cure=CUDA_CURE if is_cuda and variant else None))
    return findings


def check_versions(elf, symbols, expected):
    """Versions of symbols that a policy does not allow, and symbols that it takes out of a library."""
    findings, policy = [], expected.policy
    versions = {version for _, version in elf.needed_versions().values()}
    for version in sorted(versions):
        if policy.allows(version):
            continue
        users = [symbol.name for symbol in symbols if symbol.version == version]
        limit = policy.limits[version.partition("_")[0]]
        allowed = f"{version.partition('_')[0]}_{limit}"
        for name in users or [None]:
            message = f"it needs {version} (allowed: {allowed})"
            findings.append(Finding("symbol-version", message, name))
    for library in elf.needed:
        missing = set(policy.missing.get(library, ()))
        for symbol in symbols:
            if not symbol.defined and symbol.name in missing:
                message = f"{policy.name} does not promise it in {library}"
                findings.append(Finding("symbol-version", message, symbol.name))
    return findings


def check_undefined(symbols, needed, expected, is_abi3):
    """Names that nothing defines when the file is loaded, and those of Python and torch that the
    file may not use."""
    variant, findings = expected.variant, []
    for symbol in symbols:
        if symbol.defined or not symbol.name:
            continue
        name = symbol.name
        if PYTHON.match(name) and (is_abi3 or variant and variant.framework != "tvm-ffi"):
            findings += check_limited_api(name, expected)
        elif symbol.version or symbol.binding == WEAK or variant is None:
            continue
        elif name not in expected.defined and variant.framework is not None:
            findings += check_name(name, needed, expected)
    return findings


def check_limited_api(name, expected):
    """Functions and data that Python's limited API does not have in a release."""
    added, oldest = expected.limited_api.get(name), expected.python
    if added is None:
        return [Finding("limited-api", "Python's limited API does not have it", name)]
    if release_key(added) > release_key(oldest):
        message = f"Python's limited API has it from {added} on, and {oldest} is promised"
        return [Finding("limited-api", message, name)]
    return []


def openmp_cure(expected):
    """The cure for a function that torch's OpenMP runtime lacks, or that the link did not expect."""
    if expected.openmp:
        limit = f"GOMP_{expected.openmp}"
        return f"torch's OpenMP has no nested locks and no function newer than {limit}"
    return 'is "-fopenmp" missing from the cxx-flags of these files?'


def check_name(name, needed, expected):
    """An undefined name without a version, in a variant."""
    variant, names = expected.variant, expected.names
    if variant.framework == "torch-stable-abi":
        if findings := check_stable(name, needed, expected):
            return findings
        if name in expected.shim:
            return []
    allowed = expected.classes(needed)
    known = names.classes.get(name)
    if known in allowed or expected.has_shape(name, needed):
        return []
    if known == "torch-python":
        cure = PYTHON_BINDING_CURE
    elif OPENMP.match(name):
        cure = openmp_cure(expected)
    elif CUDA.match(name) and variant.backend != "cuda":
        cure = CUDA_CURE
    elif known in names.libraries:
        cure = f"torch does not load {known}.so: open it with dlopen"
    else:
        cure = None
    # A search takes a millisecond, and people read the first hints.
    near = names.nearest(name, allowed) if expected.hints else None
    expected.hints = max(0, expected.hints - 1)
    finding = Finding("undefined-symbol", "nothing defines it when the file is loaded", name, cure=cure)
    finding.nearest = near
    return [finding]


def check_stable(name, needed, expected):
    """A name in a library that keeps torch's stable ABI: torch's own may be functions of its C
    interface alone."""
    added, oldest = expected.shim.get(name), expected.variant.release
    if added is None:
        is_torch = expected.names.classes.get(name, "").startswith("torch")
        if is_torch or expected.shapes["torch-unlisted"].match(name):
            return [Finding("stable-abi", "it is no function of torch's stable C interface", name)]
        return []
    if release_key(added) > release_key(oldest):
        message = f"torch has it from {added} on, and {oldest} is promised"
        return [Finding("stable-abi", message, name)]
    return []


def check_exports(symbols, expected):
    """Names that a file gives to others and that others already have."""
    findings = []
    for symbol in symbols:
        if not symbol.visible or symbol.binding not in (GLOBAL, WEAK, UNIQUE):
            continue
        name = symbol.name
        if symbol.binding == UNIQUE:
            message = "all libraries of a process share it, those of other kernels too"
            findings.append(Finding("unique-symbol", message, name))
        elif PYTHON.match(name) and not name.startswith("PyInit_"):
            findings.append(Finding("exported-symbol", "it defines a name of Python's", name))
        elif name in expected.libc:
            findings.append(Finding("exported-symbol", "it defines a name of the C library's", name))
    return findings


def check_macho(macho, expected, is_abi3):
    """The findings of a library for macOS."""
    findings = check_machine(macho.machine, expected)
    findings += [Finding("run-path", f"it looks for libraries in {path}") for path in macho.run_paths]
    if macho.minimum is None:
        findings.append(Finding("macos-version", "it does not say which macOS it needs"))
    elif macho.minimum > release_key(expected.macos)[:2]:
        needed = ".".join(map(str, macho.minimum))
        findings.append(Finding("macos-version", f"it needs macOS {needed}, and {expected.macos} is promised"))
    for name in macho.needed:
        if not MAC_LIBRARIES.fullmatch(name):
            message = f"it needs {name}, which machines that load it need not have"
            findings.append(Finding("needed-library", message, name))
    if is_abi3 or expected.variant is not None:
        for name in sorted(set(macho.undefined)):
            if PYTHON.match(name):
                findings += check_limited_api(name, expected)
    return findings


def check_pe(pe, expected, is_abi3):
    """The findings of a library for Windows."""
    findings = check_machine(pe.machine, expected)
    for library, names in sorted(pe.imports.items()):
        if not re.fullmatch(r"python3\d*\.dll", library.lower()):
            continue
        if is_abi3 and library.lower() != "python3.dll":
            message = f"it needs {library}, which one Python alone has"
            findings.append(Finding("needed-library", message, library, cure="link with python3.lib"))
        if is_abi3:
            for name in names:
                findings += check_limited_api(name, expected)
    return findings
