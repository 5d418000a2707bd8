"""RGB images to grey, on CUDA."""

from __future__ import annotations

import torch

from ._ops import add_op_namespace_prefix, ops

__all__ = ["img2gray"]


# The operator writes to `out` and returns nothing, so torch.compile has no shape to work out.
@torch.library.register_fake(add_op_namespace_prefix("img2gray"))
def _img2gray_fake(out: torch.Tensor, input: torch.Tensor) -> None:
    return None


def img2gray(input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Return the luminosity 0.21 R + 0.72 G + 0.07 B of a batch of RGB images.

    `input` has shape [B, 3, H, W], the result [B, 1, H, W]; both are uint8 or both float32. The sum is computed in
    float32; for uint8 it is then rounded to the nearest integer, not truncated. The result goes to `out` if given.
    """
    if out is None:
        batch, _, height, width = input.shape
        out = input.new_empty((batch, 1, height, width))
    ops.img2gray(out, input)
    return out
