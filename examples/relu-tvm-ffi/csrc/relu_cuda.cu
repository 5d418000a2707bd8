// relu on CUDA devices: the kernel and its launcher.
#include "relu.h"

#include <algorithm>

#include <cuda_runtime.h>

namespace {

constexpr int kThreadsPerBlock = 256;

// More blocks than any GPU runs at once; the loop in the kernel takes what is left.
constexpr int64_t kMaxBlocks = 1 << 16;

// NB: no __restrict__, `out` may be `input`.
__global__ void relu_kernel(float *out, const float *input, int64_t count) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = first; i < count; i += step) {
    out[i] = input[i] < 0.0f ? 0.0f : input[i];
  }
}

cudaError_t launch(float *out, const float *input, int64_t count, cudaStream_t stream) {
  const int64_t blocks = std::min((count + kThreadsPerBlock - 1) / kThreadsPerBlock, kMaxBlocks);
  relu_kernel<<<static_cast<unsigned int>(blocks), kThreadsPerBlock, 0, stream>>>(out, input, count);
  return cudaGetLastError();
}

}  // namespace

const char *relu_cuda(float *out, const float *input, int64_t count, int device, void *stream) {
  // A grid of zero blocks is an error, and there is nothing to do.
  if (count == 0) {
    return nullptr;
  }
  int previous = device;
  cudaError_t error = cudaGetDevice(&previous);
  if (error == cudaSuccess && previous != device) {
    error = cudaSetDevice(device);
  }
  if (error == cudaSuccess) {
    error = launch(out, input, count, static_cast<cudaStream_t>(stream));
  }
  if (previous != device) {
    // A failure here must not hide an earlier one.
    const cudaError_t restored = cudaSetDevice(previous);
    error = error == cudaSuccess ? restored : error;
  }
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}
