"""Tests of a build of this kernel: of the one that LOCAL_KERNELS names, else of build/ beside this folder."""

import os
from pathlib import Path

import kernels
import pytest
import torch

REPO_ID = "kernel-builder/img2gray"

# Smaller than a block, sizes that no block divides, no image at all, and more in each dimension than one grid has.
SHAPES = [
    (1, 3, 1, 1),
    (1, 3, 32, 32),
    (2, 3, 7, 5),
    (5, 3, 33, 257),
    (0, 3, 8, 8),
    (3, 3, 0, 4),
    (1, 3, 1201, 3),
    (1, 3, 3, 1201),
    (131, 3, 3, 3),
]

pytestmark = [
    pytest.mark.kernels_ci,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


@pytest.fixture(scope="module")
def kernel():
    if REPO_ID in os.environ.get("LOCAL_KERNELS", ""):
        return kernels.get_kernel(REPO_ID, version=1)
    return kernels.get_local_kernel(Path(__file__).parents[1])


def images(*shape, dtype):
    if dtype == torch.uint8:
        return torch.randint(0, 256, shape, dtype=dtype, device="cuda")
    return torch.rand(shape, dtype=dtype, device="cuda")


def check(result, input):
    assert result.dtype == input.dtype
    red, green, blue = input.to(torch.float32).split(1, dim=1)
    expected = 0.21 * red + 0.72 * green + 0.07 * blue
    if input.dtype == torch.uint8:
        # One more or less is allowed: the two sums may round a tie to different sides.
        torch.testing.assert_close(result.to(torch.float32), expected.round(), rtol=0, atol=1)
    else:
        torch.testing.assert_close(result, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
@pytest.mark.parametrize("shape", SHAPES)
def test_matches_formula(kernel, shape, dtype):
    input = images(*shape, dtype=dtype)
    check(kernel.img2gray(input), input)


def test_each_image_of_a_batch_is_its_own(kernel):
    batch = images(4, 3, 9, 11, dtype=torch.uint8)
    one_by_one = torch.cat([kernel.img2gray(image[None]) for image in batch])
    torch.testing.assert_close(kernel.img2gray(batch), one_by_one, rtol=0, atol=0)


@pytest.mark.parametrize("level", [0, 1, 127, 254, 255])
def test_gray_stays_as_it_is(kernel, level):
    input = torch.full((1, 3, 4, 4), level, dtype=torch.uint8, device="cuda")
    assert (kernel.img2gray(input) == level).all()


def test_rounds_to_nearest(kernel):
    # 0.72 of green 1 is nearer to 1, 0.21 of red 1 is nearer to 0; truncation would give 0 for both.
    input = torch.zeros(2, 3, 1, 1, dtype=torch.uint8, device="cuda")
    input[0, 1], input[1, 0] = 1, 1
    assert kernel.img2gray(input).flatten().tolist() == [1, 0]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
@pytest.mark.parametrize(
    "view",
    [
        pytest.param(lambda x: x.to(memory_format=torch.channels_last), id="channels_last"),
        pytest.param(lambda x: x.transpose(2, 3), id="transposed"),
        pytest.param(lambda x: x[:, :, 1::2, 3:], id="cropped"),
        pytest.param(lambda x: x.flip(1), id="bgr"),
        pytest.param(lambda x: x[:1].expand(7, -1, -1, -1), id="one image repeated"),
        pytest.param(lambda x: x[:, :1].expand(-1, 3, -1, -1), id="one channel repeated"),
    ],
)
def test_non_contiguous_input(kernel, view, dtype):
    input = view(images(3, 3, 31, 47, dtype=dtype))
    check(kernel.img2gray(input), input)


def test_out(kernel):
    input = images(2, 3, 15, 17, dtype=torch.uint8)
    out = torch.zeros(2, 1, 15, 34, dtype=torch.uint8, device="cuda")
    view = out[..., ::2]
    assert kernel.img2gray(input, view) is view
    check(view, input)
    assert (out[..., 1::2] == 0).all()


def test_current_stream(kernel):
    stream = torch.cuda.Stream()
    input = images(1, 3, 64, 64, dtype=torch.float32)
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        result = kernel.img2gray(input)
    stream.synchronize()
    check(result, input)


def test_rejects_what_it_cannot_do(kernel):
    input = images(2, 3, 4, 5, dtype=torch.uint8)
    with pytest.raises(ValueError, match="input must have shape"):
        kernel.img2gray(images(2, 4, 4, 5, dtype=torch.uint8))
    with pytest.raises(ValueError, match="out must have shape"):
        kernel.img2gray(input, out=input)
    with pytest.raises(TypeError, match="uint8 and float32"):
        kernel.img2gray(input.to(torch.int32))
    with pytest.raises(TypeError, match="out is"):
        kernel.img2gray(input, out=torch.empty(2, 1, 4, 5, device="cuda"))
    with pytest.raises(RuntimeError, match="overlap|some elements"):
        kernel.img2gray(input[:1], out=input[:1, :1])


def test_compiles(kernel):
    compiled = torch.compile(lambda x: kernel.img2gray(x), backend="aot_eager", fullgraph=True)
    input = images(2, 3, 4, 5, dtype=torch.uint8)
    check(compiled(input), input)
