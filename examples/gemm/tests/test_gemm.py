"""Tests of a build of this kernel: of the one that LOCAL_KERNELS names, else of build/ beside this folder."""

import os
from pathlib import Path

import kernels
import pytest
import torch

REPO_ID = "kernel-builder/gemm"

BLOCK = 128

# No rows, one, less than a tile, sizes that no tile divides, and several blocks.
SHAPES = [(0, 8, 128), (1, 1, 128), (17, 33, 256), (64, 64, 128), (100, 130, 384), (129, 257, 128)]

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
        pytest.skip("no GPU")
    return request.param


@pytest.fixture(scope="module")
def kernel(device):
    kernel = load("rocm" if device == "cuda" and torch.version.hip else device)
    if kernel is None:
        pytest.skip(f"no {device} build")
    return kernel


def matrices(m, n, k, device):
    torch.manual_seed(m * n + k)
    a = torch.randn(m, k).to(torch.float8_e4m3fnuz)
    b = torch.randn(n, k).to(torch.float8_e4m3fnuz)
    a_scale = torch.rand(m, k // BLOCK) + 0.5
    b_scale = torch.rand(-(-n // BLOCK), k // BLOCK) + 0.5
    return [x.to(device) for x in (a, b, a_scale, b_scale)]


def reference(a, b, a_scale, b_scale):
    a, b, a_scale, b_scale = (x.cpu().to(torch.float32).double() for x in (a, b, a_scale, b_scale))
    a_scale = a_scale.repeat_interleave(BLOCK, 1)
    b_scale = b_scale.repeat_interleave(BLOCK, 0)[: b.shape[0]].repeat_interleave(BLOCK, 1)
    return (a * a_scale) @ (b * b_scale).T


@pytest.mark.parametrize("shape", SHAPES)
def test_matches_double_precision(kernel, device, shape):
    arguments = matrices(*shape, device)
    found = kernel.gemm(*arguments)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.cpu().double(), reference(*arguments), rtol=2**-7, atol=1e-3)


def test_every_float8(kernel, device):
    # Each of the 256 values, times one: the result is the value, which bfloat16 holds exactly.
    bits = torch.arange(256, dtype=torch.uint8)
    a = torch.zeros(256, BLOCK, dtype=torch.uint8)
    a[:, 0] = bits
    b = torch.zeros(1, BLOCK)
    b[0, 0] = 1
    a, b = a.view(torch.float8_e4m3fnuz).to(device), b.to(torch.float8_e4m3fnuz).to(device)
    ones = torch.ones(256, 1, device=device)
    found = kernel.gemm(a, b, ones, ones[:1]).float().cpu().flatten()
    expected = bits.view(torch.float8_e4m3fnuz).float()
    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


def test_out(kernel, device):
    arguments = matrices(5, 7, 128, device)
    out = torch.empty(5, 7, dtype=torch.bfloat16, device=device)
    assert kernel.gemm(*arguments, out=out) is out
    torch.testing.assert_close(out, kernel.gemm(*arguments), rtol=0, atol=0)


def test_rejects_what_it_cannot_do(kernel, device):
    a, b, a_scale, b_scale = matrices(4, 4, 128, device)
    with pytest.raises(ValueError, match="multiple of 128"):
        kernel.gemm(a[:, :64].contiguous(), b, a_scale, b_scale)
    with pytest.raises(TypeError, match="a is Float"):
        kernel.gemm(a.float(), b, a_scale, b_scale)
    with pytest.raises(ValueError, match="a_scale must have shape"):
        kernel.gemm(a, b, a_scale[:2], b_scale)
    with pytest.raises(ValueError, match="b is not contiguous"):
        kernel.gemm(a, b.T.contiguous().T, a_scale, b_scale)
