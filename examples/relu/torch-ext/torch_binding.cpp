// Checks the arguments, brings them into one layout, calls the backend and registers the operator.
#include "torch_binding.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include "registration.h"

#if defined(CUDA_KERNEL)
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "relu_cuda.h"

namespace {

ReluType relu_type(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return ReluType::kFloat32;
    case at::kDouble:
      return ReluType::kFloat64;
    case at::kHalf:
      return ReluType::kFloat16;
    case at::kBFloat16:
      return ReluType::kBFloat16;
    default:
      TORCH_CHECK_TYPE(false, "relu is not implemented for ", type);
  }
}

}  // namespace

void relu_same_layout(at::Tensor &out, const at::Tensor &input) {
  const ReluType type = relu_type(input.scalar_type());
  const c10::cuda::CUDAGuard guard(input.device());
  C10_CUDA_CHECK(relu_cuda_launch(out.mutable_data_ptr(), input.const_data_ptr(), input.numel(), type,
                                  c10::cuda::getCurrentCUDAStream()));
}
#endif

void relu(at::Tensor &out, const at::Tensor &input) {
  TORCH_CHECK_TYPE(out.scalar_type() == input.scalar_type(), "relu: out is ", out.scalar_type(), " but input is ",
                   input.scalar_type());
  TORCH_CHECK_VALUE(out.sizes() == input.sizes(), "relu: out has shape ", out.sizes(), " but input has shape ",
                    input.sizes());
  TORCH_CHECK_VALUE(out.device() == input.device(), "relu: out is on ", out.device(), " but input is on ",
                    input.device());
  at::assert_no_internal_overlap(out);
  at::assert_no_partial_overlap(out, input);

  if (out.is_non_overlapping_and_dense() && out.strides() == input.strides()) {
    relu_same_layout(out, input);
    return;
  }
  const at::Tensor packed_input = input.contiguous();
  if (out.is_contiguous()) {
    relu_same_layout(out, packed_input);
    return;
  }
  at::Tensor packed_out = at::empty_like(packed_input);
  relu_same_layout(packed_out, packed_input);
  out.copy_(packed_out);
}

// TORCH_EXTENSION_NAME is unique to each build, so several builds of this kernel can live in one process.
TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("relu(Tensor! out, Tensor input) -> ()");
#if defined(CPU_KERNEL)
  ops.impl("relu", c10::kCPU, &relu);
#elif defined(CUDA_KERNEL)
  ops.impl("relu", c10::kCUDA, &relu);
#endif
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
