"""Layers that `kernels.kernelize` can put in the place of torch's own.

Such a layer has no state: no constructor, no attributes beyond the two flags, and the `forward` of the layer it
replaces. At run time `self` is the layer that was replaced.
"""

import torch
from torch import nn

from .._ops import ops

__all__ = ["ReLU"]


class ReLU(nn.Module):
    """Replaces `torch.nn.ReLU`, in inference."""

    can_torch_compile = True
    has_backward = False

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        out = input if getattr(self, "inplace", False) else torch.empty_like(input)
        ops.relu(out, input)
        return out
