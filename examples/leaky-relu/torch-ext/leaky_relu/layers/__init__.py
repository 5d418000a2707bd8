"""Layers that `kernels.kernelize` can put in the place of torch's own.

Such a layer has no state: no constructor, no attributes beyond the two flags, and the `forward` of the layer it
replaces. At run time `self` is the layer that was replaced.
"""

import torch
from torch import nn

from .._ops import ops

__all__ = ["LeakyReLU"]


class LeakyReLU(nn.Module):
    """Replaces `torch.nn.LeakyReLU`, in training too."""

    can_torch_compile = True
    has_backward = True

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return ops.leaky_relu(input, self.negative_slope)
