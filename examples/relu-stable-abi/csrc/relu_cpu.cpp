// relu on the CPU.
#include "relu.h"

const char *relu_launch(float *out, const float *input, int64_t count, void * /*queue*/) {
  for (int64_t i = 0; i < count; ++i) {
    // Written so that a NaN stays a NaN.
    out[i] = input[i] < 0.0f ? 0.0f : input[i];
  }
  return nullptr;
}
