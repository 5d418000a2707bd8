"""Tests of a build of this kernel: of the one that LOCAL_KERNELS names, else of build/ beside this folder."""

import os
from pathlib import Path

import kernels
import numpy
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tvm_ffi")

REPO_ID = "kernel-builder/relu-tvm-ffi"

SHAPES = [(0,), (), (1,), (7,), (257,), (3, 0, 5), (13, 17, 19), (1025, 1031)]

pytestmark = pytest.mark.kernels_ci


def load(backend):
    """The build for `backend`, or None where there is none for this machine."""
    try:
        if REPO_ID in os.environ.get("LOCAL_KERNELS", ""):
            return kernels.get_kernel(REPO_ID, version=1, backend=backend)
        return kernels.get_local_kernel(Path(__file__).parents[1], backend=backend)
    except FileNotFoundError:
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


def test_some_build_loads():
    assert load("cpu") is not None or load("cuda") is not None


@pytest.mark.parametrize("shape", SHAPES)
def test_matches_torch(kernel, device, shape):
    x = torch.randn(shape, device=device)
    out = torch.full_like(x, -1)
    assert kernel.relu(x, out) is out
    torch.testing.assert_close(out, torch.relu(x), rtol=0, atol=0)


def test_special_values(kernel, device):
    x = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e-40, -1e-40], device=device)
    expected = torch.relu(x)
    torch.testing.assert_close(kernel.relu(x, x), expected, rtol=0, atol=0, equal_nan=True)


def test_numpy():
    kernel = load("cpu")
    if kernel is None:
        pytest.skip("no cpu build")
    x = numpy.random.default_rng(0).standard_normal((33, 65)).astype(numpy.float32)
    out = numpy.empty_like(x)
    kernel.relu(x, out)
    numpy.testing.assert_array_equal(out, numpy.maximum(x, 0))


def test_runs_in_order_on_the_current_stream(kernel, device):
    if device != "cuda":
        pytest.skip("streams are CUDA's")
    x = torch.zeros(1 << 24, device=device)
    out = torch.empty_like(x)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(100):
            x += 1
        kernel.relu(x, out)
        assert (out == 100).all()


def test_rejects_what_it_cannot_do(kernel, device):
    x = torch.randn(4, 4, device=device)
    with pytest.raises(TypeError, match="out is not float32"):
        kernel.relu(x, x.double())
    with pytest.raises(ValueError, match="shape"):
        kernel.relu(x, torch.empty(4, 3, device=device))
    with pytest.raises(ValueError, match="input is not contiguous"):
        kernel.relu(x.t(), x)
