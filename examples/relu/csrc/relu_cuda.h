// The CUDA side of relu as the binding sees it. Free of torch: what includes this file compiles without torch headers.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

enum class ReluType { kFloat32, kFloat64, kFloat16, kBFloat16 };

// Enqueues out[i] = max(input[i], 0) for 0 <= i < count on `stream`. Both are device pointers to `count` elements of
// `type`; they may be equal. A NaN stays a NaN. Returns the error of the launch; the work itself is asynchronous.
cudaError_t relu_cuda_launch(void *out, const void *input, int64_t count, ReluType type, cudaStream_t stream);
