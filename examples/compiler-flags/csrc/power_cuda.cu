// Powers on NVIDIA GPUs.
#include "power.h"

#include <algorithm>

#include <cuda_runtime.h>

namespace {

constexpr int kThreadsPerBlock = 256;

// More blocks than any GPU runs at once; the loop in the kernel takes the rest.
constexpr int64_t kMaxBlocks = 1 << 16;

__global__ void power_kernel(float *out, const float *input, int64_t count) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = first; i < count; i += step) {
    float result = 1.0f;
#pragma unroll
    for (int factor = 0; factor < POWER; ++factor) {
      result *= input[i];
    }
    out[i] = result;
  }
}

}  // namespace

const char *power_launch(float *out, const float *input, int64_t count, void *queue) {
  // A grid of zero blocks is an error.
  if (count == 0) {
    return nullptr;
  }
  const auto blocks = static_cast<unsigned int>(std::min((count + kThreadsPerBlock - 1) / kThreadsPerBlock, kMaxBlocks));
  power_kernel<<<blocks, kThreadsPerBlock, 0, static_cast<cudaStream_t>(queue)>>>(out, input, count);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}
