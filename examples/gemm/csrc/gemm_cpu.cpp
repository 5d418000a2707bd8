// gemm on the CPU: the formula, for tests and as a reference.
#include "gemm.h"

#include "fp8.h"

const char *gemm_launch(uint16_t *out, const uint8_t *a, const uint8_t *b, const float *a_scale, const float *b_scale,
                        int64_t m, int64_t n, int64_t k, void * /*queue*/) {
  const int64_t blocks = k / kScaleBlock;
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      float sum = 0.0f;
      for (int64_t block = 0; block < blocks; ++block) {
        float part = 0.0f;
        for (int64_t i = block * kScaleBlock; i < (block + 1) * kScaleBlock; ++i) {
          part += float_of_fp8(a[row * k + i]) * float_of_fp8(b[column * k + i]);
        }
        sum += part * a_scale[row * blocks + block] * b_scale[column / kScaleBlock * blocks + block];
      }
      out[row * n + column] = bfloat16_of_float(sum);
    }
  }
  return nullptr;
}
