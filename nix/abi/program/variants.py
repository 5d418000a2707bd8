"""The promises of a variant, from its name: where it loads, and which libraries are there then."""

import re

from tables import find_lists, list_files

TORCH = re.compile(r"torch(\d)(\d+)-(?:(cxx11|cxx98)-)?(\w+)-(\w+)-(linux|darwin)$")
STABLE = re.compile(r"torch-stable-abi(\d)(\d+)-(\w+?)-(\w+)-(linux|darwin)$")
TVM_FFI = re.compile(r"tvm-ffi(\d)(\d+)-(\w+)-(\w+)-(linux|darwin)$")
PYTHON_ONLY = re.compile(r"torch-(?:cpu|cuda|rocm|xpu|metal|universal|neuron|tpu|cann|npu)$")


class Variant:
    """A variant by its name. `framework` is `torch`, `torch-stable-abi`, `tvm-ffi`, or None for a
    variant of Python alone, which has no system."""

    def __init__(self, name):
        self.name, self.framework, self.release = name, None, None
        self.cxx_abi, self.compute, self.system = None, None, None
        if match := TORCH.match(name):
            self.framework, self.cxx_abi = "torch", match[3]
            self._set(match, match[4], match[5], match[6])
        elif match := STABLE.match(name):
            self.framework = "torch-stable-abi"
            self._set(match, match[3], match[4], match[5])
        elif match := TVM_FFI.match(name):
            self.framework = "tvm-ffi"
            self._set(match, match[3], match[4], match[5])
        elif not PYTHON_ONLY.match(name):
            raise ValueError(name)

    def _set(self, match, compute, machine, kernel):
        self.release, self.compute = f"{match[1]}.{match[2]}", compute
        self.system = f"{machine}-{kernel}"

    @property
    def machine(self):
        return self.system and self.system.split("-")[0]

    @property
    def backend(self):
        """cpu, cuda, rocm, xpu or metal; None for a variant of Python alone."""
        if self.compute is None:
            return None
        kind = self.compute.rstrip("0123456789")
        return "cuda" if kind == "cu" else kind

    def list_files(self):
        """The files of its name lists, and whether these tell every name that it finds in torch."""
        if self.framework is None or not self.system.endswith("-linux"):
            return [], False
        files, is_whole = [], False
        kind = "tvm-ffi" if self.framework == "tvm-ffi" else "torch"
        if found := find_lists(self.system, f"{kind}-{self.release}"):
            key, facts = found
            is_same = self.cxx_abi in (None, facts.get("cxx-abi"))
            # A torch for another CUDA has other names of its CUDA part.
            is_same &= self.compute in ("cpu", facts.get("compute")) or kind == "tvm-ffi"
            files, is_whole = (list_files(key), True) if is_same else ([], False)
            # The libraries of NVIDIA's are the same for both C++ ABIs.
            if self.compute == facts.get("compute") != "cpu":
                files += list_files(f"{key}-nvidia")
        if self.backend == "cuda":
            digits = self.compute[2:]
            toolkit = f"cuda-{digits[:-1]}.{digits[-1]}"
            files += list_files(f"{self.system}/{toolkit}")
        return files, is_whole


def find_variant(path):
    """The variant of the nearest folder around a file that is named as one; None without one."""
    for folder in path.parents:
        try:
            return Variant(folder.name)
        except ValueError:
            continue
    return None
