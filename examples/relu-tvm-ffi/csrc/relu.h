// What the binding calls: plain pointers, so that the code behind needs no header of any framework.
#pragma once

#include <cstdint>

// out[i] = max(input[i], 0); a NaN stays one. `out` may be `input`.
void relu_cpu(float *out, const float *input, int64_t count);

// The same on CUDA device number `device`, in order on `stream` (a cudaStream_t). Returns nullptr, or CUDA's words for
// what went wrong.
const char *relu_cuda(float *out, const float *input, int64_t count, int device, void *stream);
