// leaky relu and its gradient on NVIDIA GPUs.
#include "leaky_relu.h"

#include <algorithm>

#include <cuda_runtime.h>

namespace {

constexpr int kThreadsPerBlock = 256;

// More blocks than any GPU runs at once; the loop in the kernel takes the rest.
constexpr int64_t kMaxBlocks = 1 << 16;

template <typename T>
__global__ void leaky_kernel(T *out, const T *values, const T *signs, T slope, int64_t count) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = first; i < count; i += step) {
    out[i] = signs[i] > 0 ? values[i] : slope * values[i];
  }
}

}  // namespace

template <typename T>
const char *leaky_launch(T *out, const T *values, const T *signs, double slope, int64_t count, void *queue) {
  // A grid of zero blocks is an error.
  if (count == 0) {
    return nullptr;
  }
  const auto blocks = static_cast<unsigned int>(std::min((count + kThreadsPerBlock - 1) / kThreadsPerBlock, kMaxBlocks));
  leaky_kernel<<<blocks, kThreadsPerBlock, 0, static_cast<cudaStream_t>(queue)>>>(out, values, signs,
                                                                                static_cast<T>(slope), count);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

template const char *leaky_launch(float *, const float *, const float *, double, int64_t, void *);
template const char *leaky_launch(double *, const double *, const double *, double, int64_t, void *);
