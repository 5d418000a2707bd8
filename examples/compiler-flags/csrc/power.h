// The work as the binding sees it: plain pointers, so that the code behind needs no header of torch.
#pragma once

#include <cstdint>

#if !defined(POWER)
#error "build.toml defines POWER in cxx-flags and cuda-flags"
#endif

// out[i] = input[i] to the power of POWER. `queue` is a cudaStream_t, and null on the CPU. Returns null, or the words of an
// error.
const char *power_launch(float *out, const float *input, int64_t count, void *queue);
