"""leaky_relu beside torch's: `kernel-builder benchmark`, or `kernels benchmark .` of the client."""

import torch
from kernels import Benchmark


class LeakyRelu(Benchmark):
    seed = 1

    def setup(self):
        self.x = torch.randn(2048, 2048, device=self.device)

    def benchmark_forward(self):
        self.out = self.kernel.leaky_relu(self.x)

    def verify_forward(self):
        return torch.nn.functional.leaky_relu(self.x)

    def setup_training(self):
        self.setup()
        self.x.requires_grad_()

    def benchmark_training(self):
        (self.out,) = torch.autograd.grad(self.kernel.leaky_relu(self.x).sum(), self.x)

    def verify_training(self):
        return torch.autograd.grad(torch.nn.functional.leaky_relu(self.x).sum(), self.x)[0]
