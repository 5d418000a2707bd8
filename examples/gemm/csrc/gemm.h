// The work as the binding sees it: plain pointers, so that the code behind needs no header of torch.
#pragma once

#include <cstdint>

// Rows and columns of a matrix that share a scale.
constexpr int64_t kScaleBlock = 128;

// out = (a * scales) (b * scales)^T, in bfloat16; products are summed in float32.
// - a: m x k, and b: n x k, row by row, in float8 e4m3fnuz; k is a multiple of kScaleBlock
// - a_scale: m x k/128, one scale for each row of `a` and 128 columns
// - b_scale: ceil(n/128) x k/128, one scale for each block of 128 x 128 of `b`
// `queue` is the GPU's queue of work (a cudaStream_t or a hipStream_t), and null on the CPU. Returns null, or the words of
// an error.
const char *gemm_launch(uint16_t *out, const uint8_t *a, const uint8_t *b, const float *a_scale, const float *b_scale,
                        int64_t m, int64_t n, int64_t k, void *queue);
