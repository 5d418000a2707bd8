// The work on Apple GPUs as the binding sees it.
#pragma once

#include <ATen/core/Tensor.h>

// out = max(input, 0), for contiguous float32 tensors of one size on the GPU, in torch's own queue.
void relu_metal(at::Tensor &out, const at::Tensor &input);
