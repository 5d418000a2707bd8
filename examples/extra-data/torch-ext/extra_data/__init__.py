"""Colours of a palette that lies beside this file: a kernel with data."""

import json
from pathlib import Path

import torch

from ._ops import add_op_namespace_prefix

__all__ = ["nearest_color"]

# NB: beside this file, wherever the build is loaded from.
_PALETTE = json.loads((Path(__file__).parent / "palette.json").read_text())


@torch.library.custom_op(add_op_namespace_prefix("nearest_color"), mutates_args=())
def nearest_color(colors: torch.Tensor) -> torch.Tensor:
    """Return the number of the palette's nearest colour, for each RGB triple in the last dimension of `colors`."""
    if colors.shape[-1] != 3:
        raise ValueError(f"the last dimension of colors is {colors.shape[-1]}, not 3")
    palette = torch.tensor(_PALETTE, dtype=torch.float32, device=colors.device)
    distances = (colors.unsqueeze(-2).to(torch.float32) - palette).square().sum(-1)
    return distances.argmin(-1)


@nearest_color.register_fake
def _nearest_color_fake(colors):
    return colors.new_empty(colors.shape[:-1], dtype=torch.int64)
