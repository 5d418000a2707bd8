// gemm on NVIDIA GPUs, and on AMD's after the translation to HIP. A block of threads computes a tile of the result, and
// shares the parts of the matrices that it needs.
#include "gemm.h"

#include <cuda_runtime.h>

#include "fp8.h"

namespace {

// Rows and columns of a tile. Each thread computes kRows of them, in one column.
constexpr int kTile = 64;
constexpr int kRows = 16;

// Columns of the matrices that are in shared memory at a time; kScaleBlock is a multiple.
constexpr int kDepth = 32;

constexpr int kThreads = kTile * kTile / kRows;

static_assert(kScaleBlock % kDepth == 0 && kTile * kDepth % kThreads == 0, "parts are of one size");

// Reads kTile rows and kDepth columns of a matrix, as floats. Rows behind the last are zero.
__device__ void read_part(float part[kTile][kDepth + 1], const uint8_t *matrix, int64_t first_row, int64_t rows,
                          int64_t first_column, int64_t columns) {
  for (int i = threadIdx.x; i < kTile * kDepth; i += kThreads) {
    const int64_t row = first_row + i / kDepth;
    const int column = i % kDepth;
    part[i / kDepth][column] = row < rows ? float_of_fp8(matrix[row * columns + first_column + column]) : 0.0f;
  }
}

__global__ void gemm_kernel(uint16_t *out, const uint8_t *a, const uint8_t *b, const float *a_scale,
                            const float *b_scale, int64_t m, int64_t n, int64_t k) {
  // One more column than is used: threads of a warp then read different banks.
  __shared__ float a_part[kTile][kDepth + 1];
  __shared__ float b_part[kTile][kDepth + 1];

  const int64_t first_row = static_cast<int64_t>(blockIdx.y) * kTile;
  const int64_t first_column = static_cast<int64_t>(blockIdx.x) * kTile;
  const int own_column = threadIdx.x % kTile;
  const int own_row = threadIdx.x / kTile * kRows;
  const int64_t column = first_column + own_column;
  const int64_t blocks = k / kScaleBlock;

  float sums[kRows] = {};
  for (int64_t block = 0; block < blocks; ++block) {
    float parts[kRows] = {};
    for (int64_t depth = 0; depth < kScaleBlock; depth += kDepth) {
      read_part(a_part, a, first_row, m, block * kScaleBlock + depth, k);
      read_part(b_part, b, first_column, n, block * kScaleBlock + depth, k);
      __syncthreads();
      for (int i = 0; i < kDepth; ++i) {
        for (int row = 0; row < kRows; ++row) {
          parts[row] += a_part[own_row + row][i] * b_part[own_column][i];
        }
      }
      __syncthreads();
    }
    const float scale = column < n ? b_scale[column / kScaleBlock * blocks + block] : 0.0f;
    for (int row = 0; row < kRows; ++row) {
      const int64_t place = first_row + own_row + row;
      sums[row] += place < m ? parts[row] * a_scale[place * blocks + block] * scale : 0.0f;
    }
  }
  for (int row = 0; row < kRows; ++row) {
    const int64_t place = first_row + own_row + row;
    if (place < m && column < n) {
      out[place * n + column] = bfloat16_of_float(sums[row]);
    }
  }
}

}  // namespace

const char *gemm_launch(uint16_t *out, const uint8_t *a, const uint8_t *b, const float *a_scale, const float *b_scale,
                        int64_t m, int64_t n, int64_t k, void *queue) {
  const int64_t across = (n + kTile - 1) / kTile;
  const int64_t down = (m + kTile - 1) / kTile;
  // A grid of zero blocks is an error.
  if (across == 0 || down == 0) {
    return nullptr;
  }
  constexpr int64_t kMaxDown = 65535;
  if (down > kMaxDown) {
    return "a has too many rows for one grid";
  }
  const dim3 grid(static_cast<unsigned int>(across), static_cast<unsigned int>(down));
  gemm_kernel<<<grid, kThreads, 0, static_cast<cudaStream_t>(queue)>>>(out, a, b, a_scale, b_scale, m, n, k);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}
