"""gemm beside torch's product of the same numbers in bfloat16: `kernel-builder benchmark`."""

import torch
from kernels import Benchmark

BLOCK = 128


class Gemm(Benchmark):
    seed = 1

    def setup(self):
        m, n, k = (1024, 1024, 1024) if self.device != "cpu" else (64, 64, 256)
        self.a = torch.randn(m, k, device=self.device).to(torch.float8_e4m3fnuz)
        self.b = torch.randn(n, k, device=self.device).to(torch.float8_e4m3fnuz)
        self.a_scale = torch.full((m, k // BLOCK), 0.01, device=self.device)
        self.b_scale = torch.full((-(-n // BLOCK), k // BLOCK), 0.01, device=self.device)
        self.out = torch.empty(m, n, dtype=torch.bfloat16, device=self.device)
        self.wide_a, self.wide_b = self.a.to(torch.bfloat16), self.b.to(torch.bfloat16)

    def benchmark_product(self):
        self.kernel.gemm(self.a, self.b, self.a_scale, self.b_scale, self.out)

    def verify_product(self):
        return (self.wide_a @ self.wide_b.T) * 1e-4
