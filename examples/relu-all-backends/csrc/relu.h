// The work as the binding sees it: plain pointers, so that the code behind needs no header of torch.
#pragma once

#include <cstdint>

// out[i] = max(input[i], 0) for 0 <= i < count; a NaN stays one. `out` may be `input`. `queue` is the GPU's queue of work (a
// cudaStream_t, a hipStream_t or a sycl::queue *), and null on the CPU. Returns null, or the words of an error.
const char *relu_launch(float *out, const float *input, int64_t count, void *queue);
