// Checks the arguments, calls the code of this build's backend and registers the operators.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "power.h"
#include "registration.h"

#if defined(CUDA_KERNEL)
#include <c10/cuda/CUDAStream.h>
#endif

namespace {

at::Tensor power(const at::Tensor &input) {
  TORCH_CHECK_TYPE(input.scalar_type() == at::kFloat, "power: input is ", input.scalar_type(), ", not Float");
  const at::Tensor packed = input.contiguous();
  at::Tensor out = at::empty_like(packed);
  const c10::DeviceGuard guard(input.device());
  void *queue = nullptr;
#if defined(CUDA_KERNEL)
  queue = c10::cuda::getCurrentCUDAStream(input.get_device()).stream();
#endif
  const char *error = power_launch(out.mutable_data_ptr<float>(), packed.const_data_ptr<float>(), packed.numel(), queue);
  TORCH_CHECK(error == nullptr, "power: ", error);
  return out;
}

int64_t exponent() { return POWER; }

}  // namespace

// TORCH_EXTENSION_NAME is unique to each build, so several builds of this kernel can live in one process.
TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("exponent() -> int", &exponent);
  ops.def("power(Tensor input) -> Tensor");
#if defined(CPU_KERNEL)
  ops.impl("power", c10::kCPU, &power);
#elif defined(CUDA_KERNEL)
  ops.impl("power", c10::kCUDA, &power);
#endif
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
