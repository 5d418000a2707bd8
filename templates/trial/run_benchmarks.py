"""Measures one build of a kernel with the scripts of its benchmarks/ folder, and writes the measurements as JSON. They
have the format of the `kernels` client: classes derived from kernels.Benchmark with `setup`, `benchmark_*`, `verify_*`.

run_benchmarks.py KERNEL VARIANT PACKAGE REPO TARGET BACKEND SAMPLES WARMUP OUTPUT
TARGET is the folder of a build or of builds, or OWNER/NAME@REVISION for a repository in the cache of the Hub.
"""

import importlib.util
import json
import math
import os
import random
import sys
import time
from pathlib import Path

# The shortest sample, in seconds: calls that take less are measured several at a time.
SHORTEST = 0.002
MOST_CALLS = 1 << 14

# torch's names of devices that differ from the client's names of backends.
DEVICES = {"rocm": "cuda", "metal": "mps", "cann": "npu"}


def load(target, backend):
    from kernels import get_local_kernel

    folder = Path(target)
    return get_local_kernel(folder if folder.exists() else cached(target), backend=backend)


def cached(target):
    """The folder of OWNER/NAME@REVISION in the cache of the Hub. Nothing is downloaded."""
    from huggingface_hub.constants import HF_HUB_CACHE

    repo, _, revision = target.partition("@")
    folder = Path(os.environ.get("KERNELS_CACHE") or HF_HUB_CACHE) / "--".join(["kernels", *repo.split("/")])
    reference = folder / "refs" / revision
    commit = reference.read_text().strip() if reference.is_file() else revision
    snapshot = folder / "snapshots" / commit
    if not revision or not snapshot.is_dir():
        sys.exit(f"{target} is not in the cache of the Hub ({folder}): `get_kernel` of the client brings it there")
    return snapshot


def classes(script):
    from kernels import Benchmark

    spec = importlib.util.spec_from_file_location(script.stem, script)
    module = importlib.util.module_from_spec(spec)
    sys.modules[script.stem] = module
    spec.loader.exec_module(module)
    own = [value for value in vars(module).values() if isinstance(value, type) and value.__module__ == script.stem]
    return [value for value in own if issubclass(value, Benchmark)]


def wait_for(device):
    import torch

    if device != "cpu":
        torch.get_device_module(device).synchronize()


def seconds_of(function, calls, device):
    wait_for(device)
    start = time.perf_counter()
    for _ in range(calls):
        function()
    wait_for(device)
    return time.perf_counter() - start


def measure(function, samples, warmup, device):
    """Seconds of one call, in each sample."""
    seconds_of(function, warmup, device)
    calls = 1
    while (seconds := seconds_of(function, calls, device)) < SHORTEST and calls < MOST_CALLS:
        calls = min(MOST_CALLS, max(calls * 2, math.ceil(calls * SHORTEST / max(seconds, 1e-9))))
    return [seconds_of(function, calls, device) / calls for _ in range(samples)]


def run(benchmark, workload, kernel, device, samples, warmup):
    import torch

    instance = benchmark()
    instance.kernel, instance.device = kernel, device
    if instance.seed is not None:
        torch.manual_seed(instance.seed)
        random.seed(instance.seed)
    getattr(instance, f"setup_{workload}", instance.setup)()
    function = getattr(instance, f"benchmark_{workload}")
    verify = getattr(instance, f"verify_{workload}", None)
    result = {"name": f"{benchmark.__name__}.{workload}"}
    if verify is not None:
        function()
        expected = verify()
        # As the client compares them.
        result["matches"] = bool(torch.allclose(instance.out, expected, atol=1e-2))
        difference = (instance.out.double() - expected.double()).abs()
        result["largest_difference"] = difference.max().item() if difference.numel() else 0.0
        result["reference"] = measure(verify, samples, warmup, device)
    result["samples"] = measure(function, samples, warmup, device)
    return result


def main(kernel, variant, package, repo, target, backend, samples, warmup, output):
    module = load(target, backend)
    import torch

    device = DEVICES.get(backend, backend)
    workloads = []
    os.chdir(kernel)
    for script in sorted(Path("benchmarks").glob("benchmark*.py")):
        for benchmark in classes(script):
            names = [name.removeprefix("benchmark_") for name in dir(benchmark) if name.startswith("benchmark_")]
            for name in names:
                workloads.append(run(benchmark, name, module, device, int(samples), int(warmup)))
    gpu = torch.cuda.get_device_name() if device == "cuda" else None
    facts = {"build": target, "module": module.__name__, "torch": torch.__version__, "device": device, "gpu": gpu}
    Path(output).write_text(json.dumps({**facts, "workloads": workloads}))


if __name__ == "__main__":
    main(*sys.argv[1:])
