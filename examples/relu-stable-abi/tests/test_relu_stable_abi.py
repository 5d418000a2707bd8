"""Tests of a build of this kernel: of the one that LOCAL_KERNELS names, else of build/ beside this folder."""

import os
from pathlib import Path

import kernels
import pytest
import torch

REPO_ID = "kernel-builder/relu-stable-abi"

# Shapes: nothing, a scalar, less than a block, odd sizes, and more than one block can take at once.
SHAPES = [(0,), (), (1,), (7,), (257,), (3, 0, 5), (13, 17, 19), (1025, 1031)]

pytestmark = pytest.mark.kernels_ci


def load(backend):
    """The build for `backend`, or None where there is none for this machine."""
    try:
        if REPO_ID in os.environ.get("LOCAL_KERNELS", ""):
            return kernels.get_kernel(REPO_ID, version=1, backend=backend)
        return kernels.get_local_kernel(Path(__file__).parents[1], backend=backend)
    except (FileNotFoundError, ValueError):
        return None


@pytest.fixture(scope="module", params=["cpu", "cuda"])
def device(request):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return request.param


@pytest.fixture(scope="module")
def kernel(device):
    kernel = load(device)
    if kernel is None:
        pytest.skip(f"no {device} build")
    return kernel


@pytest.mark.parametrize("shape", SHAPES)
def test_matches_torch(kernel, device, shape):
    x = torch.randn(shape, device=device)
    torch.testing.assert_close(kernel.relu(x), torch.relu(x), rtol=0, atol=0)


def test_special_values(kernel, device):
    x = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0], device=device)
    torch.testing.assert_close(kernel.relu(x), torch.relu(x), rtol=0, atol=0, equal_nan=True)


def test_in_place(kernel, device):
    x = torch.randn(1000, device=device)
    expected = torch.relu(x)
    assert kernel.relu(x, out=x) is x
    torch.testing.assert_close(x, expected, rtol=0, atol=0)


def test_rejects_what_it_cannot_do(kernel, device):
    x = torch.randn(4, 4, device=device)
    with pytest.raises(RuntimeError, match="float32"):
        kernel.relu(x.half())
    with pytest.raises(RuntimeError, match="differ in shape"):
        kernel.relu(x, out=x[:2])
    with pytest.raises(RuntimeError, match="contiguous"):
        kernel.relu(x, out=x.t())


def test_compiles(kernel, device):
    # aot_eager traces and functionalises, and needs neither a C++ compiler nor Triton.
    compiled = torch.compile(lambda x: kernel.relu(x) + 1, backend="aot_eager", fullgraph=True)
    x = torch.randn(16, 3, device=device)
    torch.testing.assert_close(compiled(x), torch.relu(x) + 1, rtol=0, atol=0)
