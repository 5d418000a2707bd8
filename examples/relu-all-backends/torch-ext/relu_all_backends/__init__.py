"""ReLU of float32 tensors, on CPUs and on GPUs of NVIDIA, AMD, Intel and Apple."""

from __future__ import annotations

import torch

from ._ops import add_op_namespace_prefix, ops

__all__ = ["relu"]


# The operator writes to `out` and returns nothing, so torch.compile has no shape to work out.
@torch.library.register_fake(add_op_namespace_prefix("relu"))
def _relu_fake(out: torch.Tensor, input: torch.Tensor) -> None:
    return None


def relu(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Return max(x, 0), elementwise, of a float32 tensor.

    The result goes to `out` if it is given: a contiguous tensor like `x`, or `x` itself to work in place. There is no
    backward pass.
    """
    x = x.contiguous()
    if out is None:
        out = torch.empty_like(x)
    ops.relu(out, x)
    return out
