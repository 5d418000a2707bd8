"""Compares the built examples with torch on the GPU of this machine, on random inputs, and prints what was compared.

Needs: examples/relu/build and examples/img2gray/build (`kernel-builder build`), torch and the `kernels` client.
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


main()
