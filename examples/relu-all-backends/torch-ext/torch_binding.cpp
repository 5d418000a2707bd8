// Checks the arguments, calls the code of this build's backend and registers the operator.
#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "registration.h"

#if defined(CUDA_KERNEL)
#include <c10/cuda/CUDAStream.h>
#elif defined(ROCM_KERNEL)
#include <c10/hip/HIPStream.h>
#elif defined(XPU_KERNEL)
#include <c10/xpu/XPUStream.h>
#endif

#if defined(METAL_KERNEL)
#include "relu_metal.h"
#else
#include "relu.h"
#endif

namespace {

// The queue that torch works in on the tensor's device.
[[maybe_unused]] void *current_queue([[maybe_unused]] const at::Tensor &tensor) {
#if defined(CUDA_KERNEL)
  return c10::cuda::getCurrentCUDAStream(tensor.get_device()).stream();
#elif defined(ROCM_KERNEL)
  return c10::hip::getCurrentHIPStream(tensor.get_device()).stream();
#elif defined(XPU_KERNEL)
  return &c10::xpu::getCurrentXPUStream(tensor.get_device()).queue();
#else
  return nullptr;
#endif
}

void relu(at::Tensor &out, const at::Tensor &input) {
  TORCH_CHECK_TYPE(input.scalar_type() == at::kFloat, "relu: input is ", input.scalar_type(), ", not Float");
  TORCH_CHECK_TYPE(out.scalar_type() == at::kFloat, "relu: out is ", out.scalar_type(), ", not Float");
  TORCH_CHECK_VALUE(out.sizes() == input.sizes(), "relu: out has shape ", out.sizes(), " but input has shape ",
                    input.sizes());
  TORCH_CHECK_VALUE(out.device() == input.device(), "relu: out is on ", out.device(), " but input is on ",
                    input.device());
  TORCH_CHECK_VALUE(input.is_contiguous() && out.is_contiguous(), "relu: both tensors must be contiguous");
#if defined(METAL_KERNEL)
  relu_metal(out, input);
#else
  const c10::DeviceGuard guard(input.device());
  const char *error = relu_launch(out.mutable_data_ptr<float>(), input.const_data_ptr<float>(), input.numel(),
                                  current_queue(input));
  TORCH_CHECK(error == nullptr, "relu: ", error);
#endif
}

}  // namespace

// TORCH_EXTENSION_NAME is unique to each build, so several builds of this kernel can live in one process.
TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("relu(Tensor! out, Tensor input) -> ()");
#if defined(CPU_KERNEL)
  ops.impl("relu", c10::kCPU, &relu);
#elif defined(CUDA_KERNEL) || defined(ROCM_KERNEL)
  ops.impl("relu", c10::kCUDA, &relu);
#elif defined(METAL_KERNEL)
  ops.impl("relu", c10::kMPS, &relu);
#elif defined(XPU_KERNEL)
  ops.impl("relu", c10::kXPU, &relu);
#endif
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
