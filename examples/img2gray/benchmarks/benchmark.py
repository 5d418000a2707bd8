"""img2gray beside the same formula in torch: `kernel-builder benchmark`, or `kernels benchmark .` of the client."""

import torch
from kernels import Benchmark


class Img2Gray(Benchmark):
    seed = 1

    def prepare(self, images):
        self.images = images
        self.weights = torch.tensor([0.21, 0.72, 0.07], device=self.device).view(1, 3, 1, 1)
        batch, _, height, width = images.shape
        self.out = images.new_empty(batch, 1, height, width)

    def gray(self):
        self.kernel.img2gray(self.images, self.out)

    def formula(self):
        return (self.images * self.weights).sum(1, keepdim=True)

    # Without verify_photo_uint8: kernel and formula may round a tie to different sides.
    def setup_photo_uint8(self):
        self.prepare(torch.randint(0, 256, (1, 3, 1080, 1920), dtype=torch.uint8, device=self.device))

    benchmark_photo_uint8 = gray

    def setup_photo_float32(self):
        self.prepare(torch.rand(1, 3, 1080, 1920, device=self.device))

    benchmark_photo_float32 = gray
    verify_photo_float32 = formula

    def setup_batch_float32(self):
        self.prepare(torch.rand(32, 3, 480, 640, device=self.device))

    benchmark_batch_float32 = gray
    verify_batch_float32 = formula
