#!/usr/bin/env python3
"""Installs each wheel of a folder into a fresh environment, and compares its kernel with torch on
the GPU of this machine. It needs torch and pip, and no network.

scripts/gpu_wheels.py DIST [PACKAGES]; DIST has wheels of `kernel-builder to-wheel`, of examples
that CHECKS names. PACKAGES has wheels of other packages that they need (apache-tvm-ffi).

Where the wheels are made:

    v=torch211-cxx11-cu130-x86_64-linux
    kernel-builder build examples/relu --variant $v
    kernel-builder to-wheel examples/relu --variant $v --out .gpu/dist
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

# The module of a wheel, and a line that leaves its result for `x` in `ours` and torch's in
# `theirs`.
CHECKS = {
    "relu": "ours, theirs = relu.relu(x), torch.relu(x)",
    "relu_stable_abi": "ours, theirs = relu_stable_abi.relu(x), torch.relu(x)",
    "relu_tvm_ffi": "ours, theirs = relu_tvm_ffi.relu(x, torch.empty_like(x)), torch.relu(x)",
    "silu_and_mul": "ours = silu_and_mul.silu_and_mul(x)\n"
    "gate, value = x.double().chunk(2, dim=-1); theirs = torch.nn.functional.silu(gate) * value",
}
SCRIPT = """
import torch
import {module}
x = torch.rand(1025, 4098, device="cuda") - 0.5
{lines}
difference = (ours.double() - theirs.double()).abs().max().item()
assert ours.shape == theirs.shape and difference < 1e-6, difference
print({module}.__file__, f"max difference {{difference:.3g}}", sep=": ")
"""


def main(dist, packages=None):
    # The environment of this machine's torch, which need not be Python's own folder.
    parent = subprocess.run(
        [sys.executable, "-c", "import torch; print(torch.__path__[0])"], check=True, stdout=subprocess.PIPE, text=True
    )
    site = Path(parent.stdout.strip()).parent
    wheels = sorted(Path(dist).resolve().glob("*.whl"))
    assert wheels, f"{dist} has no wheel"
    for wheel in wheels:
        module = wheel.name.split("-")[0]
        with tempfile.TemporaryDirectory() as folder:
            venv.create(folder, with_pip=True)
            python = Path(folder) / "bin" / "python"
            others = sorted(Path(packages).resolve().glob("*.whl")) if packages else []
            pip = [python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
            subprocess.run([*pip, wheel, *others], check=True)
            own = next(Path(folder).glob("lib/python*/site-packages"))
            # NB: torch is behind the environment's own packages.
            (own / "torch.pth").write_text(f"{site}\n")
            print(f"== {wheel.name}", flush=True)
            script = SCRIPT.format(module=module, lines=CHECKS[module])
            subprocess.run([python, "-c", script], check=True, cwd=folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
