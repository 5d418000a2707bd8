// relu on CUDA devices: the kernel and its launcher. Free of torch, so it builds in seconds and is shared by all
// torch versions that use the same CUDA toolkit.
#include "relu_cuda.h"

#include <algorithm>
#include <cstddef>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace {

constexpr int kThreadsPerBlock = 256;

// More blocks than any GPU runs at once; the loop in the kernel takes what is left.
constexpr int64_t kMaxBlocks = 1 << 16;

// A NaN is not negative.
__device__ bool is_negative(float x) { return x < 0.0f; }
__device__ bool is_negative(double x) { return x < 0.0; }
__device__ bool is_negative(__half x) { return __half2float(x) < 0.0f; }
__device__ bool is_negative(__nv_bfloat16 x) { return __bfloat162float(x) < 0.0f; }

template <typename T>
__device__ T relu(T x) {
  return is_negative(x) ? T{} : x;
}

// What a thread moves at once. Wide accesses are what it takes to keep the memory of a large GPU busy.
template <typename T>
struct alignas(16) Pack {
  static constexpr int kSize = 16 / sizeof(T);
  T values[kSize];
};

// The first `packs` packs, then the elements after them. NB: no __restrict__, `out` may be `input`.
template <typename T>
__global__ void relu_kernel(T *out, const T *input, int64_t count, int64_t packs) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = first; i < packs; i += step) {
    Pack<T> pack = reinterpret_cast<const Pack<T> *>(input)[i];
    for (T &value : pack.values) {
      value = relu(value);
    }
    reinterpret_cast<Pack<T> *>(out)[i] = pack;
  }
  for (int64_t i = packs * Pack<T>::kSize + first; i < count; i += step) {
    out[i] = relu(input[i]);
  }
}

bool is_aligned(const void *pointer, size_t alignment) { return reinterpret_cast<uintptr_t>(pointer) % alignment == 0; }

template <typename T>
cudaError_t launch(void *out, const void *input, int64_t count, cudaStream_t stream) {
  // A grid of zero blocks is an error, and there is nothing to do.
  if (count == 0) {
    return cudaSuccess;
  }
  // A slice may begin anywhere, and a misaligned wide access is an error.
  const bool wide = is_aligned(out, alignof(Pack<T>)) && is_aligned(input, alignof(Pack<T>));
  const int64_t packs = wide ? count / Pack<T>::kSize : 0;
  const int64_t threads = wide ? packs + Pack<T>::kSize : count;
  const int64_t blocks = std::min((threads + kThreadsPerBlock - 1) / kThreadsPerBlock, kMaxBlocks);
  relu_kernel<T><<<static_cast<unsigned int>(blocks), kThreadsPerBlock, 0, stream>>>(
      static_cast<T *>(out), static_cast<const T *>(input), count, packs);
  return cudaGetLastError();
}

}  // namespace

cudaError_t relu_cuda_launch(void *out, const void *input, int64_t count, ReluType type, cudaStream_t stream) {
  switch (type) {
    case ReluType::kFloat32:
      return launch<float>(out, input, count, stream);
    case ReluType::kFloat64:
      return launch<double>(out, input, count, stream);
    case ReluType::kFloat16:
      return launch<__half>(out, input, count, stream);
    case ReluType::kBFloat16:
      return launch<__nv_bfloat16>(out, input, count, stream);
  }
  return cudaErrorInvalidValue;
}
