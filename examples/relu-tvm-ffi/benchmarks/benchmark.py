"""relu beside torch's: `kernel-builder benchmark`, or `kernels benchmark .` of the client."""

import torch
from kernels import Benchmark


class Relu(Benchmark):
    seed = 1

    def setup(self):
        self.x = torch.randn(4096, 4096, device=self.device)
        self.out = torch.empty_like(self.x)

    def benchmark_large(self):
        self.kernel.relu(self.x, self.out)

    def verify_large(self):
        return torch.relu(self.x)
