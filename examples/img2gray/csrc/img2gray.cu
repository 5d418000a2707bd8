// img2gray: the CUDA kernel and its launcher. Free of torch, so it builds in seconds and is shared by all torch
// versions that use the same CUDA toolkit.
#include "img2gray.h"

#include <algorithm>

namespace {

// Pixels that a block takes at once. A warp is one row of 32, so that its accesses are neighbours in memory.
constexpr int kBlockWidth = 32;
constexpr int kBlockHeight = 8;

// Together more blocks than any GPU runs at once; the loops in the kernel take what is left.
constexpr int64_t kMaxBlocksAcross = 16;
constexpr int64_t kMaxBlocksDown = 64;
constexpr int64_t kMaxBlocksDeep = 64;

constexpr float kRed = 0.21f;
constexpr float kGreen = 0.72f;
constexpr float kBlue = 0.07f;

__device__ void store(float *to, float gray) { *to = gray; }

// The weights add up to 1, but their rounding may leave white a little above 255, so the result is clamped.
__device__ void store(uint8_t *to, float gray) { *to = static_cast<uint8_t>(min(__float2int_rn(gray), 255)); }

// One thread a pixel, and then the next one that is a whole grid away: every size works, and none needs a division.
template <typename T>
__global__ void img2gray_kernel(ImagesOut out, ImagesIn input, int64_t batch, int64_t height, int64_t width) {
  const int64_t first_row = static_cast<int64_t>(blockIdx.y) * kBlockHeight + threadIdx.y;
  const int64_t first_column = static_cast<int64_t>(blockIdx.x) * kBlockWidth + threadIdx.x;
  for (int64_t image = blockIdx.z; image < batch; image += gridDim.z) {
    for (int64_t row = first_row; row < height; row += gridDim.y * kBlockHeight) {
      const T *from = static_cast<const T *>(input.data) + image * input.batch_stride + row * input.row_stride;
      T *to = static_cast<T *>(out.data) + image * out.batch_stride + row * out.row_stride;
      for (int64_t column = first_column; column < width; column += gridDim.x * kBlockWidth) {
        const T *rgb = from + column * input.column_stride;
        const float red = rgb[0];
        const float green = rgb[input.channel_stride];
        const float blue = rgb[2 * input.channel_stride];
        store(to + column * out.column_stride, kRed * red + kGreen * green + kBlue * blue);
      }
    }
  }
}

unsigned int blocks(int64_t size, int block, int64_t most) {
  return static_cast<unsigned int>(std::min((size + block - 1) / block, most));
}

template <typename T>
cudaError_t launch(ImagesOut out, ImagesIn input, int64_t batch, int64_t height, int64_t width, cudaStream_t stream) {
  // A grid of zero blocks is an error, and there is nothing to do.
  if (batch == 0 || height == 0 || width == 0) {
    return cudaSuccess;
  }
  const dim3 grid(blocks(width, kBlockWidth, kMaxBlocksAcross), blocks(height, kBlockHeight, kMaxBlocksDown),
                  blocks(batch, 1, kMaxBlocksDeep));
  img2gray_kernel<T><<<grid, dim3(kBlockWidth, kBlockHeight), 0, stream>>>(out, input, batch, height, width);
  return cudaGetLastError();
}

}  // namespace

cudaError_t img2gray_launch(ImagesOut out, ImagesIn input, int64_t batch, int64_t height, int64_t width, PixelType type,
                            cudaStream_t stream) {
  switch (type) {
    case PixelType::kUInt8:
      return launch<uint8_t>(out, input, batch, height, width, stream);
    case PixelType::kFloat32:
      return launch<float>(out, input, batch, height, width, stream);
  }
  return cudaErrorInvalidValue;
}
