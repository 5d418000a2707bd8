"""silu_and_mul beside torch's operators: `kernel-builder benchmark`, or `kernels benchmark .` of the client."""

import torch
from kernels import Benchmark


class SiluAndMul(Benchmark):
    seed = 1

    def setup(self):
        self.x = torch.randn(2048, 4096, device=self.device)

    def benchmark_rows(self):
        self.out = self.kernel.silu_and_mul(self.x)

    def verify_rows(self):
        gate, value = self.x.chunk(2, dim=-1)
        return torch.nn.functional.silu(gate) * value
