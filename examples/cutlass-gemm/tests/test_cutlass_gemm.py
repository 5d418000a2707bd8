"""Tests of a build of this kernel: of the one that LOCAL_KERNELS names, else of build/ beside this folder."""

import os
from pathlib import Path

import kernels
import pytest
import torch

REPO_ID = "kernel-builder/cutlass-gemm"

# No rows, less than a tile, several tiles, and sizes that no tile divides.
SHAPES = [(0, 4, 8), (1, 4, 8), (64, 32, 16), (128, 128, 64), (1024, 768, 512), (1000, 516, 248)]

pytestmark = [
    pytest.mark.kernels_ci,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


@pytest.fixture(scope="module")
def kernel():
    if REPO_ID in os.environ.get("LOCAL_KERNELS", ""):
        return kernels.get_kernel(REPO_ID, version=1)
    return kernels.get_local_kernel(Path(__file__).parents[1])


@pytest.mark.parametrize("shape", SHAPES)
def test_matches_double_precision(kernel, shape):
    m, n, k = shape
    a = torch.randn(m, k, device="cuda", dtype=torch.half)
    b = torch.randn(n, k, device="cuda", dtype=torch.half)
    expected = (a.double() @ b.double().T).float()
    torch.testing.assert_close(kernel.gemm(a, b), expected, rtol=1e-4, atol=1e-3)


def test_rejects_what_it_cannot_do(kernel):
    a = torch.randn(8, 16, device="cuda", dtype=torch.half)
    with pytest.raises(ValueError, match="multiple of 8"):
        kernel.gemm(a[:, :12].contiguous(), a[:, :12].contiguous())
    with pytest.raises(TypeError, match="b is Float"):
        kernel.gemm(a, a.float())
    with pytest.raises(ValueError, match="out must have shape"):
        kernel.gemm(a, a, out=torch.empty(8, 7, device="cuda"))


def test_compiles(kernel):
    compiled = torch.compile(lambda a: kernel.gemm(a, a) + 1, backend="aot_eager", fullgraph=True)
    a = torch.randn(8, 16, device="cuda", dtype=torch.half)
    torch.testing.assert_close(compiled(a), kernel.gemm(a, a) + 1)
