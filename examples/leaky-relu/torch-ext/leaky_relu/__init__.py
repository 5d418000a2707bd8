"""Leaky ReLU with a backward pass, for training and for torch.compile."""

import torch

from . import layers
from ._ops import add_op_namespace_prefix, ops

__all__ = ["layers", "leaky_relu"]


# torch.compile and torch.export ask these for shapes, without running the kernel.
@torch.library.register_fake(add_op_namespace_prefix("leaky_relu"))
def _leaky_relu_fake(input, slope):
    return torch.empty_like(input, memory_format=torch.contiguous_format)


@torch.library.register_fake(add_op_namespace_prefix("leaky_relu_backward"))
def _leaky_relu_backward_fake(gradient, input, slope):
    return torch.empty_like(gradient, memory_format=torch.contiguous_format)


# NB: torch calls it with these names.
def _keep(ctx, inputs, output):
    input, ctx.slope = inputs
    ctx.save_for_backward(input)


# One gradient for each argument of the operator.
def _backward(ctx, gradient):
    (input,) = ctx.saved_tensors
    return ops.leaky_relu_backward(gradient, input, ctx.slope), None


torch.library.register_autograd(add_op_namespace_prefix("leaky_relu"), _backward, setup_context=_keep)


def leaky_relu(x: torch.Tensor, slope: float = 0.01) -> torch.Tensor:
    """Return `x` where it is not negative, and `slope * x` elsewhere. float32 and float64, with a gradient for `x`."""
    return ops.leaky_relu(x, slope)
