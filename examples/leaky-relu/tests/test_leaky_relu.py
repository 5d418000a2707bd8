"""Tests of a build of this kernel: of the one that LOCAL_KERNELS names, else of build/ beside this folder."""

import os
from pathlib import Path

import kernels
import pytest
import torch

REPO_ID = "kernel-builder/leaky-relu"

SHAPES = [(0,), (), (7,), (3, 0, 5), (13, 17, 19), (1025, 1031)]

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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_matches_torch(kernel, device, shape, dtype):
    x = torch.randn(shape, dtype=dtype, device=device)
    torch.testing.assert_close(kernel.leaky_relu(x, 0.2), torch.nn.functional.leaky_relu(x, 0.2))


def test_gradient_is_that_of_torch(kernel, device):
    x = torch.randn(33, 65, device=device)
    # No gradient exists at zero: torch takes the slope, and not 1.
    x[::3] = 0
    x.requires_grad_()
    weights = torch.randn(33, 65, device=device)
    (found,) = torch.autograd.grad((kernel.leaky_relu(x) * weights).sum(), x)
    (expected,) = torch.autograd.grad((torch.nn.functional.leaky_relu(x) * weights).sum(), x)
    torch.testing.assert_close(found, expected)


def test_gradient_is_that_of_small_differences(kernel, device):
    x = torch.randn(5, 7, dtype=torch.float64, device=device, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: kernel.leaky_relu(x.t(), 0.3), (x,))


def test_operators_are_described_right(kernel, device):
    x = torch.randn(4, 6, dtype=torch.float64, device=device)
    op = kernel._ops.ops.leaky_relu.default
    torch.library.opcheck(op, (x.requires_grad_(), 0.1))
    torch.library.opcheck(op, (x.detach().t(), 0.1))


def test_compiles_with_its_gradient(kernel, device):
    # aot_eager traces and functionalises, and needs neither a C++ compiler nor Triton.
    compiled = torch.compile(lambda x: kernel.leaky_relu(x).square().sum(), backend="aot_eager", fullgraph=True)
    x = torch.randn(16, 3, device=device, requires_grad=True)
    (found,) = torch.autograd.grad(compiled(x), x)
    (expected,) = torch.autograd.grad(torch.nn.functional.leaky_relu(x).square().sum(), x)
    torch.testing.assert_close(found, expected)


def test_rejects_what_it_cannot_do(kernel, device):
    with pytest.raises(TypeError, match="not implemented for Half"):
        kernel.leaky_relu(torch.randn(3, device=device).half())


def test_layer_trains(kernel, device):
    @kernels.use_kernel_forward_from_hub("LeakyReLU")
    class Activation(torch.nn.LeakyReLU):
        pass

    repository = kernels.LocalLayerRepository(Path(kernel.__file__).parent, layer_name="LeakyReLU")
    model = torch.nn.Sequential(Activation(0.3))
    with kernels.use_kernel_mapping({"LeakyReLU": {device: repository}}, inherit_mapping=False):
        model = kernels.kernelize(model, mode=kernels.Mode.TRAINING, device=device, use_fallback=False)
    x = torch.randn(8, 8, device=device, requires_grad=True)
    (found,) = torch.autograd.grad(model(x).sum(), x)
    torch.testing.assert_close(found, torch.where(x < 0, 0.3, 1.0))
