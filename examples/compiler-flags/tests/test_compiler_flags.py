"""Tests of a build of this kernel: of the one that LOCAL_KERNELS names, else of build/ beside this folder."""

import os
from pathlib import Path

import kernels
import pytest
import torch

REPO_ID = "kernel-builder/compiler-flags"

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


def test_the_flag_is_that_of_build_toml(kernel):
    assert kernel.EXPONENT == 3


@pytest.mark.parametrize("shape", [(0,), (), (7,), (13, 17, 19), (1025, 1031)])
def test_matches_torch(kernel, device, shape):
    x = torch.randn(shape, device=device)
    torch.testing.assert_close(kernel.power(x), x**3)


def test_strides(kernel, device):
    x = torch.randn(5, 7, device=device).t()
    torch.testing.assert_close(kernel.power(x), x**3)


def test_rejects_what_it_cannot_do(kernel, device):
    with pytest.raises(TypeError, match="input is Double"):
        kernel.power(torch.randn(3, device=device).double())


def test_compiles(kernel, device):
    compiled = torch.compile(lambda x: kernel.power(x) + 1, backend="aot_eager", fullgraph=True)
    x = torch.randn(16, 3, device=device)
    torch.testing.assert_close(compiled(x), x**3 + 1)
