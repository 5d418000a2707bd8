"""Tests of a build of this kernel: of the one that LOCAL_KERNELS names, else of build/ beside this folder."""

import os
from pathlib import Path

import kernels
import pytest
import torch

REPO_ID = "kernel-builder/relu-all-backends"

# Shapes: nothing, a scalar, less than a block, odd sizes, and more than one block can take at once.
SHAPES = [(0,), (), (1,), (7,), (257,), (3, 0, 5), (13, 17, 19), (1025, 1031)]

# torch's name of the device for each backend of the client.
DEVICES = {"cpu": "cpu", "cuda": "cuda", "metal": "mps", "rocm": "cuda", "xpu": "xpu"}

pytestmark = pytest.mark.kernels_ci


def load(backend):
    """The build for `backend`, or None where there is none for this machine."""
    try:
        if REPO_ID in os.environ.get("LOCAL_KERNELS", ""):
            return kernels.get_kernel(REPO_ID, version=1, backend=backend)
        return kernels.get_local_kernel(Path(__file__).parents[1], backend=backend)
    except (FileNotFoundError, ValueError):
        return None


def backends():
    """The backends of this machine: its GPU's and the CPU."""
    if torch.cuda.is_available():
        return ["rocm" if torch.version.hip else "cuda", "cpu"]
    if torch.backends.mps.is_available():
        return ["metal", "cpu"]
    return ["xpu", "cpu"] if torch.xpu.is_available() else ["cpu"]


@pytest.fixture(scope="module", params=backends())
def build(request):
    kernel = load(request.param)
    if kernel is None:
        pytest.skip(f"no build for {request.param}")
    return kernel, DEVICES[request.param]


@pytest.mark.skipif(backends() == ["cpu"], reason="a build for a GPU needs one")
def test_some_build_loads():
    assert any(load(backend) for backend in backends())


@pytest.mark.parametrize("shape", SHAPES)
def test_matches_torch(build, shape):
    kernel, device = build
    x = torch.randn(shape, device=device)
    torch.testing.assert_close(kernel.relu(x), torch.relu(x), rtol=0, atol=0)


def test_special_values(build):
    kernel, device = build
    x = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0], device=device)
    torch.testing.assert_close(kernel.relu(x), torch.relu(x), rtol=0, atol=0, equal_nan=True)


def test_slices_and_strides(build):
    kernel, device = build
    x = torch.randn(33, 65, device=device)
    for view in [x.t(), x[5:], x[:, ::2]]:
        torch.testing.assert_close(kernel.relu(view), torch.relu(view), rtol=0, atol=0)


def test_in_place(build):
    kernel, device = build
    x = torch.randn(1000, device=device)
    expected = torch.relu(x)
    assert kernel.relu(x, out=x) is x
    torch.testing.assert_close(x, expected, rtol=0, atol=0)


def test_rejects_what_it_cannot_do(build):
    kernel, device = build
    x = torch.randn(4, 4, device=device)
    with pytest.raises(TypeError, match="input is Half"):
        kernel.relu(x.half())
    with pytest.raises(ValueError, match="shape"):
        kernel.relu(x, out=x[:2])
    with pytest.raises(ValueError, match="contiguous"):
        kernel.relu(x, out=x.t())


def test_compiles(build):
    kernel, device = build
    # aot_eager traces and functionalises, and needs neither a C++ compiler nor Triton.
    compiled = torch.compile(lambda x: kernel.relu(x) + 1, backend="aot_eager", fullgraph=True)
    x = torch.randn(16, 3, device=device)
    torch.testing.assert_close(compiled(x), torch.relu(x) + 1, rtol=0, atol=0)
