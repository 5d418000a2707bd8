"""relu beside torch's: `kernel-builder benchmark`, or `kernels benchmark .` of the client."""

import torch
from kernels import Benchmark


class Relu(Benchmark):
    seed = 1

    def prepare(self, *shape, dtype=torch.float32):
        self.x = torch.randn(shape, device=self.device).to(dtype)
        self.out = torch.empty_like(self.x)

    def relu(self):
        self.kernel.relu(self.x, self.out)

    def by_torch(self):
        return torch.relu(self.x)

    def setup_small_float32(self):
        self.prepare(1024)

    benchmark_small_float32 = relu
    verify_small_float32 = by_torch

    def setup_large_float32(self):
        self.prepare(4096, 4096)

    benchmark_large_float32 = relu
    verify_large_float32 = by_torch

    def setup_large_bfloat16(self):
        self.prepare(4096, 4096, dtype=torch.bfloat16)

    benchmark_large_bfloat16 = relu
    verify_large_bfloat16 = by_torch
