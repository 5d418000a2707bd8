"""Products of float8 matrices whose blocks of 128 have scales, as in models that are trained in float8."""

from __future__ import annotations

import torch

from ._ops import add_op_namespace_prefix, ops

__all__ = ["gemm"]


# The operator writes to `out` and returns nothing, so torch.compile has no shape to work out.
@torch.library.register_fake(add_op_namespace_prefix("gemm"))
def _gemm_fake(out, a, b, a_scale, b_scale) -> None:
    return None


def gemm(
    a: torch.Tensor,
    b: torch.Tensor,
    a_scale: torch.Tensor,
    b_scale: torch.Tensor,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the product of `a` [m, k] and the transposed `b` [n, k], in bfloat16.

    Both are float8_e4m3fnuz; k is a multiple of 128. `a_scale` [m, k / 128] has a scale for each row and 128 columns,
    `b_scale` [ceil(n / 128), k / 128] one for each 128 x 128 block. Products are summed in float32. The result goes to
    `out` if given.
    """
    if out is None:
        out = torch.empty(a.shape[0], b.shape[0], dtype=torch.bfloat16, device=a.device)
    ops.gemm(out, a, b, a_scale, b_scale)
    return out
