"""Products of half matrices, with CUTLASS."""

from __future__ import annotations

import torch

from ._ops import add_op_namespace_prefix, ops

__all__ = ["gemm"]


# The operator writes to `out` and returns nothing, so torch.compile has no shape to work out.
@torch.library.register_fake(add_op_namespace_prefix("gemm"))
def _gemm_fake(out: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> None:
    return None


def gemm(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Return the product of `a` [m, k] and the transposed `b` [n, k], both float16, in float32.

    k is a multiple of 8, n one of 4. The result goes to `out` if given. There is no backward pass.
    """
    if out is None:
        out = torch.empty(a.shape[0], b.shape[0], dtype=torch.float32, device=a.device)
    ops.gemm(out, a, b)
    return out
