"""Powers of float32 tensors; a flag of the compiler says which."""

import torch

from ._ops import add_op_namespace_prefix, ops

__all__ = ["EXPONENT", "power"]

# The number that build.toml gives the compilers.
EXPONENT: int = ops.exponent()


@torch.library.register_fake(add_op_namespace_prefix("power"))
def _power_fake(input: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(input, memory_format=torch.contiguous_format)


def power(x: torch.Tensor) -> torch.Tensor:
    """Return `x` to the power of EXPONENT, elementwise. float32; there is no backward pass."""
    return ops.power(x)
