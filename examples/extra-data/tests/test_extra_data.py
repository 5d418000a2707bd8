"""Tests of a build of this kernel: of the one that LOCAL_KERNELS names, else of build/ beside this folder."""

import os
from pathlib import Path

import kernels
import pytest
import torch

REPO_ID = "kernel-builder/extra-data"

pytestmark = pytest.mark.kernels_ci


@pytest.fixture(scope="module", params=["cpu", "cuda"])
def device(request):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return request.param


@pytest.fixture(scope="module")
def kernel(device):
    try:
        if REPO_ID in os.environ.get("LOCAL_KERNELS", ""):
            return kernels.get_kernel(REPO_ID, version=1, backend=device)
        return kernels.get_local_kernel(Path(__file__).parents[1], backend=device)
    except FileNotFoundError:
        pytest.skip(f"no {device} build")


def test_nearest_colors(kernel, device):
    colors = torch.tensor([[1, 2, 3], [250, 9, 0], [250, 240, 255], [0, 200, 190]], device=device)
    assert kernel.nearest_color(colors).tolist() == [0, 1, 7, 6]


def test_any_shape(kernel, device):
    image = torch.randint(0, 256, (5, 7, 3), dtype=torch.uint8, device=device)
    found = kernel.nearest_color(image)
    assert found.shape == (5, 7)
    assert torch.equal(found[2], kernel.nearest_color(image[2]))


def test_rejects_what_it_cannot_do(kernel, device):
    with pytest.raises(ValueError, match="not 3"):
        kernel.nearest_color(torch.zeros(2, 4, device=device))


def test_compiles(kernel, device):
    compiled = torch.compile(kernel.nearest_color, backend="aot_eager", fullgraph=True)
    assert compiled(torch.zeros(2, 3, device=device)).tolist() == [0, 0]
