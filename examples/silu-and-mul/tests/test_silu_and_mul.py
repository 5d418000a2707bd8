"""Tests of a build of this kernel: of the one that LOCAL_KERNELS names, else of build/ beside this folder."""

import os
from pathlib import Path

import kernels
import pytest
import torch

REPO_ID = "kernel-builder/silu-and-mul"

DTYPES = [torch.float32, torch.float16, torch.bfloat16]

SHAPES = [(0,), (2,), (14,), (3, 0, 6), (0, 8), (13, 17, 38), (65, 4098)]

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


def reference(x):
    gate, value = x.double().chunk(2, dim=-1)
    return (torch.nn.functional.silu(gate) * value).to(x.dtype)


def test_some_build_loads():
    assert load("cpu") is not None or load("cuda") is not None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_matches_torch(kernel, device, shape, dtype):
    x = torch.randn(shape, device=device).to(dtype)
    torch.testing.assert_close(kernel.silu_and_mul(x), reference(x))


def test_non_contiguous_input(kernel, device):
    x = torch.randn(32, 33, device=device).t()
    torch.testing.assert_close(kernel.silu_and_mul(x), reference(x))


def test_rejects_an_odd_width(kernel, device):
    with pytest.raises(ValueError, match="odd: 3"):
        kernel.silu_and_mul(torch.randn(2, 3, device=device))


def test_compiles(kernel, device):
    # aot_eager traces and functionalises, and needs no C++ compiler.
    compiled = torch.compile(lambda x: kernel.silu_and_mul(x) + 1, backend="aot_eager", fullgraph=True)
    x = torch.randn(16, 6, device=device)
    torch.testing.assert_close(compiled(x), reference(x) + 1)


def test_layer(kernel, device):
    @kernels.use_kernel_forward_from_hub("SiluAndMul")
    class Gate(torch.nn.Module):
        def forward(self, x):
            raise NotImplementedError

    repository = kernels.LocalLayerRepository(Path(kernel.__file__).parent, layer_name="SiluAndMul")
    model = torch.nn.Sequential(Gate())
    with kernels.use_kernel_mapping({"SiluAndMul": {device: repository}}, inherit_mapping=False):
        model = kernels.kernelize(model, mode=kernels.Mode.INFERENCE, device=device, use_fallback=False)
    x = torch.randn(8, 8, device=device)
    torch.testing.assert_close(model(x), reference(x))
