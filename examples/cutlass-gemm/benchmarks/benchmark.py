"""gemm beside torch's product: `kernel-builder benchmark`, or `kernels benchmark .` of the client."""

import torch
from kernels import Benchmark


class Gemm(Benchmark):
    seed = 1

    def setup(self):
        self.a = torch.randn(2048, 2048, device=self.device, dtype=torch.half)
        self.b = torch.randn(2048, 2048, device=self.device, dtype=torch.half)
        self.out = torch.empty(2048, 2048, device=self.device)

    def benchmark_product(self):
        self.kernel.gemm(self.a, self.b, self.out)

    def verify_product(self):
        return self.a.float() @ self.b.float().T
