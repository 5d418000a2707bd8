// relu on NVIDIA GPUs, and on AMD's after the translation to HIP: the kernel and its launcher.
#include "relu.h"

#include <algorithm>

#include <cuda_runtime.h>

namespace {

constexpr int kThreadsPerBlock = 256;

// More blocks than any GPU runs at once; the loop in the kernel takes the rest.
constexpr int64_t kMaxBlocks = 1 << 16;

// NB: no __restrict__, `out` may be `input`.
__global__ void relu_kernel(float *out, const float *input, int64_t count) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = first; i < count; i += step) {
    // Written so that a NaN stays a NaN.
    out[i] = input[i] < 0.0f ? 0.0f : input[i];
  }
}

}  // namespace

const char *relu_launch(float *out, const float *input, int64_t count, void *queue) {
  // A grid of zero blocks is an error.
  if (count == 0) {
    return nullptr;
  }
  const int64_t blocks = std::min((count + kThreadsPerBlock - 1) / kThreadsPerBlock, kMaxBlocks);
  relu_kernel<<<static_cast<unsigned int>(blocks), kThreadsPerBlock, 0, static_cast<cudaStream_t>(queue)>>>(out, input,
                                                                                                            count);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}
