import torch


def img2gray(input: torch.Tensor) -> torch.Tensor:
    height, width, _channels = input.shape
    output = torch.empty((height, width), dtype=input.dtype)
    torch.ops.img2gray.img2gray(input, output)
    return output


@torch.library.register_fake("img2gray::img2gray")
def _(input, output):
    pass
