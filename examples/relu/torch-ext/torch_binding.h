// The functions behind the operators of this kernel.
#pragma once

#include <ATen/core/Tensor.h>

// The operator: out = max(input, 0), elementwise. Same shape, type and device; `out` may be `input`, and either may
// have any strides.
void relu(at::Tensor &out, const at::Tensor &input);

// What each backend brings: relu over two tensors whose elements lie in the same order, without gaps.
void relu_same_layout(at::Tensor &out, const at::Tensor &input);
