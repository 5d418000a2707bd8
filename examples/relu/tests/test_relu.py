"""Tests of a build of this kernel: of the one that LOCAL_KERNELS names, else of build/ beside this folder."""

import os
from pathlib import Path

import kernels
import pytest
import torch

REPO_ID = "kernel-builder/relu"

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]

# Shapes: nothing, a scalar, less than a block, odd sizes, and more than one thread or block can take at once.
SHAPES = [(0,), (), (1,), (7,), (255,), (257,), (3, 0, 5), (13, 17, 19), (1025, 1031)]

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


def random(*shape, dtype, device):
    return torch.randn(shape, device=device).to(dtype)


def test_some_build_loads():
    assert load("cpu") is not None or load("cuda") is not None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_matches_torch(kernel, device, shape, dtype):
    x = random(*shape, dtype=dtype, device=device)
    torch.testing.assert_close(kernel.relu(x), torch.relu(x), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values(kernel, device, dtype):
    tiny = torch.finfo(dtype).tiny
    x = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, tiny, -tiny], dtype=dtype, device=device)
    torch.testing.assert_close(kernel.relu(x), torch.relu(x), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(lambda x: x.t(), id="transposed"),
        pytest.param(lambda x: x[::2, 1::3], id="strided"),
        pytest.param(lambda x: x[3:, 5:], id="offset"),
        pytest.param(lambda x: x[:, :1].expand(-1, 40), id="expanded"),
        pytest.param(lambda x: x.unflatten(1, (1, 8, 8)).to(memory_format=torch.channels_last), id="channels_last"),
    ],
)
def test_non_contiguous_input(kernel, device, view):
    x = view(random(33, 64, dtype=torch.float32, device=device))
    torch.testing.assert_close(kernel.relu(x), torch.relu(x), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("start", [1, 2, 3])
def test_misaligned(kernel, device, dtype, start):
    x = random(1000, dtype=dtype, device=device)[start:]
    torch.testing.assert_close(kernel.relu(x), torch.relu(x), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_out(kernel, device, dtype):
    x = random(65, 33, dtype=dtype, device=device)
    out = torch.empty_like(x)
    assert kernel.relu(x, out) is out
    torch.testing.assert_close(out, torch.relu(x), rtol=0, atol=0)


def test_non_contiguous_out(kernel, device):
    x = random(33, 65, dtype=torch.float32, device=device)
    base = torch.full((65, 66), -1.0, device=device)
    kernel.relu(x, out=base.t()[::2])
    torch.testing.assert_close(base.t()[::2], torch.relu(x), rtol=0, atol=0)
    assert (base.t()[1::2] == -1).all()


def test_in_place(kernel, device):
    x = random(1000, dtype=torch.float32, device=device)
    expected = torch.relu(x)
    kernel.relu(x, out=x)
    torch.testing.assert_close(x, expected, rtol=0, atol=0)


def test_rejects_what_it_cannot_do(kernel, device):
    x = random(4, 4, dtype=torch.float32, device=device)
    with pytest.raises(TypeError, match="out is Double but input is Float"):
        kernel.relu(x, out=x.double())
    with pytest.raises(ValueError, match="shape"):
        kernel.relu(x, out=x[:2])
    # Of torch's dispatch on the CPU: NotImplementedError, in older releases the RuntimeError that it is one of.
    with pytest.raises((TypeError, RuntimeError), match="not implemented for"):
        kernel.relu(x.int())
    with pytest.raises(RuntimeError, match="single memory location"):
        kernel.relu(x, out=x[:1].expand(4, 4))
    shifted = random(20, dtype=torch.float32, device=device)
    with pytest.raises(RuntimeError, match="some elements"):
        kernel.relu(shifted[:-1], out=shifted[1:])


def test_compiles(kernel, device):
    # aot_eager traces and functionalises, and needs neither a C++ compiler nor Triton.
    compiled = torch.compile(lambda x: kernel.relu(x) + 1, backend="aot_eager", fullgraph=True)
    x = random(16, 3, dtype=torch.float32, device=device)
    torch.testing.assert_close(compiled(x), torch.relu(x) + 1, rtol=0, atol=0)


@pytest.mark.parametrize("inplace", [False, True])
def test_layer(kernel, device, inplace):
    @kernels.use_kernel_forward_from_hub("ReLU")
    class Activation(torch.nn.ReLU):
        pass

    repository = kernels.LocalLayerRepository(Path(kernel.__file__).parent, layer_name="ReLU")
    model = torch.nn.Sequential(Activation(inplace=inplace))
    with kernels.use_kernel_mapping({"ReLU": {device: repository}}, inherit_mapping=False):
        model = kernels.kernelize(model, mode=kernels.Mode.INFERENCE, device=device, use_fallback=False)
    x = random(8, 8, dtype=torch.float32, device=device)
    expected = torch.relu(x)
    result = model(x)
    assert (result is x) == inplace
    torch.testing.assert_close(result, expected, rtol=0, atol=0)
