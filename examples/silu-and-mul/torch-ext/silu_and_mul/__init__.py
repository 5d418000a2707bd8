"""silu(a) * b of the two halves a, b of a tensor's last dimension: the gate of many language models."""

import torch

from . import layers
from ._ops import add_op_namespace_prefix

__all__ = ["layers", "silu_and_mul"]


@torch.library.custom_op(add_op_namespace_prefix("silu_and_mul"), mutates_args=())
def silu_and_mul(x: torch.Tensor) -> torch.Tensor:
    """Return silu(a) * b for the halves a, b of the last dimension of `x`. There is no backward pass."""
    if x.shape[-1] % 2:
        raise ValueError(f"the last dimension of x is odd: {x.shape[-1]}")
    if x.device.type == "cpu":
        gate, value = x.chunk(2, dim=-1)
        return torch.nn.functional.silu(gate) * value
    # Triton comes with the torch of GPUs only.
    from .gpu import silu_and_mul as on_gpu

    return on_gpu(x)


@silu_and_mul.register_fake
def _silu_and_mul_fake(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(*x.shape[:-1], x.shape[-1] // 2)
