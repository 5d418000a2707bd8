// relu on the CPU, spread over torch's own threads.
#include "torch_binding.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

namespace {

// Elements that one thread should have at least; less is not worth waking it.
constexpr int64_t kGrainSize = 1 << 15;

}  // namespace

void relu_same_layout(at::Tensor &out, const at::Tensor &input) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, input.scalar_type(), "relu", [&] {
    scalar_t *to = out.mutable_data_ptr<scalar_t>();
    const scalar_t *from = input.const_data_ptr<scalar_t>();
    at::parallel_for(0, input.numel(), kGrainSize, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        // Written so that a NaN stays a NaN.
        to[i] = from[i] < scalar_t(0) ? scalar_t(0) : from[i];
      }
    });
  });
}
