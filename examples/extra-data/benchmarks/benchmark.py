"""nearest_color of an image: `kernel-builder benchmark`, or `kernels benchmark .` of the client."""

import torch
from kernels import Benchmark


class NearestColor(Benchmark):
    seed = 1

    def setup(self):
        self.image = torch.randint(0, 256, (256, 256, 3), device=self.device)

    def benchmark_image(self):
        self.out = self.kernel.nearest_color(self.image)
