"""Compares the built examples with torch on the GPU of this machine, on random inputs, and prints
what was compared.

Needs: build/ of these examples (`kernel-builder build`), torch, the `kernels` client and
apache-tvm-ffi.
"""

from pathlib import Path

import kernels
import torch

EXAMPLES = Path(__file__).parents[1] / "examples"


def check(what, ours, theirs, tolerance):
    difference = (ours.double() - theirs.double()).abs().max().item() if ours.numel() else 0.0
    verdict = "equal" if difference == 0 else f"max difference {difference:.3g}"
    print(f"{what:55} {verdict}")
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype or difference > tolerance:
        raise SystemExit(f"{what}: differs from torch")


def main():
    print(f"kernels {kernels.__version__}, torch {torch.__version__}, {torch.cuda.get_device_name()}")
    torch.manual_seed(0)

    relu = kernels.get_local_kernel(EXAMPLES / "relu")
    print(f"relu: {Path(relu.__file__).parent.name}")
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        for shape in ((0,), (1,), (257,), (1025, 1031), (64, 128, 1024)):
            x = torch.randn(shape, device="cuda").to(dtype)
            check(f"relu {dtype} {shape}", relu.relu(x), torch.relu(x), 0)

    img2gray = kernels.get_local_kernel(EXAMPLES / "img2gray")
    print(f"img2gray: {Path(img2gray.__file__).parent.name}")
    hundredths = torch.tensor([21, 72, 7], device="cuda").view(1, 3, 1, 1)
    for shape in ((1, 3, 1, 1), (2, 3, 17, 33), (4, 3, 480, 640), (3, 3, 1080, 1921)):
        image = torch.randint(0, 256, shape, device="cuda", dtype=torch.uint8)
        # In hundredths, where the formula is exact: the nearest byte is at most 50 of them away.
        exact = (image.long() * hundredths).sum(1, keepdim=True)
        check(f"img2gray uint8 {shape}, in hundredths", img2gray.img2gray(image).long() * 100, exact, 50)
        image = torch.rand(shape, device="cuda")
        expected = (image * hundredths / 100).sum(1, keepdim=True)
        check(f"img2gray float32 {shape}", img2gray.img2gray(image), expected, 1e-6)

    silu_and_mul = kernels.get_local_kernel(EXAMPLES / "silu-and-mul")
    print(f"silu-and-mul: {Path(silu_and_mul.__file__).parent.name}")
    for dtype, tolerance in ((torch.float32, 1e-6), (torch.float16, 2e-3), (torch.bfloat16, 2e-2)):
        for shape in ((0,), (2,), (13, 17, 38), (1025, 4098)):
            x = torch.rand(shape, device="cuda").sub(0.5).to(dtype)
            gate, value = x.double().chunk(2, dim=-1)
            expected = (torch.nn.functional.silu(gate) * value).to(dtype)
            check(f"silu_and_mul {dtype} {shape}", silu_and_mul.silu_and_mul(x), expected, tolerance)

    relu = kernels.get_local_kernel(EXAMPLES / "relu-tvm-ffi")
    print(f"relu-tvm-ffi: {Path(relu.__file__).parent.name}")
    for shape in ((0,), (1,), (257,), (1025, 1031), (64, 128, 1024)):
        x = torch.randn(shape, device="cuda")
        check(f"relu through tvm-ffi {shape}", relu.relu(x, torch.empty_like(x)), torch.relu(x), 0)


main()
