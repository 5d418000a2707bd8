// The work as the binding sees it: plain pointers, so that the code behind needs no header of torch.
#pragma once

#include <cstdint>

// out[i] = signs[i] > 0 ? values[i] : slope * values[i] for 0 <= i < count. With `values` for `signs` this is leaky relu, with
// gradients for `values` and the input for `signs` its gradient, at zero as torch has it. `queue` is a cudaStream_t, and null
// on the CPU. Returns null, or the words of an error.
template <typename T>
const char *leaky_launch(T *out, const T *values, const T *signs, double slope, int64_t count, void *queue);
