"""relu beside torch's: `kernel-builder benchmark`, or `kernels benchmark .` of the client."""

import torch
from kernels import Benchmark


class Relu(Benchmark):
    seed = 1

    def setup_small(self):
        self.x = torch.randn(1024, device=self.device)
        self.out = torch.empty_like(self.x)

    def benchmark_small(self):
        self.kernel.relu(self.x, self.out)

    def verify_small(self):
        return torch.relu(self.x)

    def setup_large(self):
        self.x = torch.randn(4096, 4096, device=self.device)
        self.out = torch.empty_like(self.x)

    def benchmark_large(self):
        self.kernel.relu(self.x, self.out)

    def verify_large(self):
        return torch.relu(self.x)
