"""power beside torch's: `kernel-builder benchmark`, or `kernels benchmark .` of the client."""

import torch
from kernels import Benchmark


class Power(Benchmark):
    seed = 1

    def setup(self):
        self.x = torch.randn(2048, 2048, device=self.device)

    def benchmark_power(self):
        self.out = self.kernel.power(self.x)

    def verify_power(self):
        return self.x**self.kernel.EXPONENT
