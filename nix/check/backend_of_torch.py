"""Makes torch, which here is always one for CUDA, look like one for $KERNEL_BACKEND when this
module is imported.

Only the attributes change that the client and kernels read when they are imported: no code can run
on a backend that this machine lacks. A plugin of pytest, too.
"""

import os
import sys
from types import ModuleType

import torch


def disguise(backend):
    """Changes the attributes of torch that the client reads when it looks for its backend
    (kernels/backends.py)."""
    if backend == "cuda":
        return
    torch.version.cuda = None
    if backend == "rocm":
        torch.version.hip = "7.2.0"
    elif backend == "xpu":
        torch.version.xpu = "20260000"
    elif backend == "metal":
        torch.backends.mps.is_available = lambda: True
    elif backend == "neuron":
        torch.neuron = ModuleType("torch.neuron")
    elif backend == "tpu":
        torch.backends.tpu = ModuleType("torch.backends.tpu")
    elif backend == "cann":
        torch.utils.rename_privateuse1_backend("npu")
        collect_env = ModuleType("torch_npu.utils.collect_env")
        collect_env.get_cann_version = lambda: "8.0"
        sys.modules["torch_npu.utils"] = ModuleType("torch_npu.utils")
        sys.modules["torch_npu.utils.collect_env"] = collect_env


disguise(os.environ["KERNEL_BACKEND"])
