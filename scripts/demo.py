"""Loads the built examples/relu with the `kernels` client and compares it with torch."""

from pathlib import Path

import torch
from kernels import get_local_kernel

relu = get_local_kernel(Path(__file__).parents[1] / "examples" / "relu", backend="cpu")
x = torch.randn(1000, 1000)
ours, theirs = relu.relu(x), torch.relu(x)
print(f"loaded {relu.__file__}")
print(f"relu of {x.numel()} numbers equals torch.relu: {torch.equal(ours, theirs)}")
raise SystemExit(0 if torch.equal(ours, theirs) else 1)
