"""Layers that `kernels.kernelize` can put in the place of a model's own.

Such a layer has no state: no constructor, no attributes beyond the two flags, and the `forward` of the layer it
replaces.
"""

import torch
from torch import nn

from .._ops import ops

__all__ = ["SiluAndMul"]


class SiluAndMul(nn.Module):
    """Replaces a layer that multiplies silu of the first half of its input with the second half, in inference."""

    can_torch_compile = True
    has_backward = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.silu_and_mul(x)
