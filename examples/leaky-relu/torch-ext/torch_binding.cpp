// Checks the arguments, calls the code of this build's backend and registers both operators. Their gradients are Python's
// business (torch-ext/leaky_relu/).
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "leaky_relu.h"
#include "registration.h"

#if defined(CUDA_KERNEL)
#include <c10/cuda/CUDAStream.h>
#endif

namespace {

// The queue that torch works in on the tensor's device.
void *current_queue([[maybe_unused]] const at::Tensor &tensor) {
#if defined(CUDA_KERNEL)
  return c10::cuda::getCurrentCUDAStream(tensor.get_device()).stream();
#else
  return nullptr;
#endif
}

template <typename T>
const char *launch(const at::Tensor &out, const at::Tensor &values, const at::Tensor &signs, double slope) {
  return leaky_launch(out.mutable_data_ptr<T>(), values.const_data_ptr<T>(), signs.const_data_ptr<T>(), slope,
                      values.numel(), current_queue(values));
}

// `values`, times `slope` where `signs` is negative.
at::Tensor scale_by_sign(const at::Tensor &values, const at::Tensor &signs, double slope) {
  const auto type = values.scalar_type();
  TORCH_CHECK_TYPE(type == at::kFloat || type == at::kDouble, "leaky_relu is not implemented for ", type);
  TORCH_CHECK_TYPE(signs.scalar_type() == type, "leaky_relu: the gradient is ", type, " but input is ",
                   signs.scalar_type());
  TORCH_CHECK_VALUE(signs.sizes() == values.sizes() && signs.device() == values.device(),
                    "leaky_relu: the gradient is not like the input");
  const at::Tensor packed_values = values.contiguous();
  const at::Tensor packed_signs = signs.contiguous();
  at::Tensor out = at::empty_like(packed_values);
  const c10::DeviceGuard guard(values.device());
  const char *error = type == at::kFloat ? launch<float>(out, packed_values, packed_signs, slope)
                                         : launch<double>(out, packed_values, packed_signs, slope);
  TORCH_CHECK(error == nullptr, "leaky_relu: ", error);
  return out;
}

at::Tensor leaky_relu(const at::Tensor &input, double slope) { return scale_by_sign(input, input, slope); }

at::Tensor leaky_relu_backward(const at::Tensor &gradient, const at::Tensor &input, double slope) {
  return scale_by_sign(gradient, input, slope);
}

}  // namespace

// TORCH_EXTENSION_NAME is unique to each build, so several builds of this kernel can live in one process.
TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("leaky_relu(Tensor input, float slope) -> Tensor");
  ops.def("leaky_relu_backward(Tensor gradient, Tensor input, float slope) -> Tensor");
#if defined(CPU_KERNEL)
  ops.impl("leaky_relu", c10::kCPU, &leaky_relu);
  ops.impl("leaky_relu_backward", c10::kCPU, &leaky_relu_backward);
#elif defined(CUDA_KERNEL)
  ops.impl("leaky_relu", c10::kCUDA, &leaky_relu);
  ops.impl("leaky_relu_backward", c10::kCUDA, &leaky_relu_backward);
#endif
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
