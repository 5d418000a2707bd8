// relu on Apple GPUs.
#include <metal_stdlib>

kernel void relu_kernel(device float *out [[buffer(0)]], const device float *input [[buffer(1)]],
                        uint i [[thread_position_in_grid]]) {
  // Written so that a NaN stays a NaN.
  out[i] = input[i] < 0.0f ? 0.0f : input[i];
}
