// Stands in for HIP's header: kernels are functions, called once.
#pragma once

#define __global__

struct dim3 {
  dim3(unsigned int x = 1) : x(x) {}
  unsigned int x;
};

using hipStream_t = struct ihipStream *;

static dim3 blockIdx, blockDim, threadIdx;

extern "C" void hipStandIn();

#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...) (hipStandIn(), kernel(__VA_ARGS__))
