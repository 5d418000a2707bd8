// The function behind the operator of this kernel.
#pragma once

#include <ATen/core/Tensor.h>

// out = 0.21 R + 0.72 G + 0.07 B of each pixel of `input`: [B, 3, H, W] to [B, 1, H, W], both uint8 (rounded to the
// nearest) or both float32, on one CUDA device, with any strides. They must not share memory.
void img2gray(at::Tensor &out, const at::Tensor &input);
