// Powers on the CPU.
#include "power.h"

const char *power_launch(float *out, const float *input, int64_t count, void * /*queue*/) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    float result = 1.0f;
    for (int factor = 0; factor < POWER; ++factor) {
      result *= input[i];
    }
    out[i] = result;
  }
  return nullptr;
}
