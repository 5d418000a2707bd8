// Checks the arguments, calls the code of this build's backend and registers the operator: all through torch's stable ABI.
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

#include "registration.h"
#include "relu.h"

namespace {

using torch::stable::Tensor;

bool is_packed_float(const Tensor &tensor) {
  return tensor.scalar_type() == torch::headeronly::ScalarType::Float && tensor.is_contiguous();
}

// The queue that torch works in on a GPU; null on the CPU.
[[maybe_unused]] void *current_queue([[maybe_unused]] int32_t device) {
  void *stream = nullptr;
#if defined(CUDA_KERNEL)
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(device, &stream));
#endif
  return stream;
}

// Errors are RuntimeErrors in Python: the stable ABI has no others.
void relu(Tensor out, const Tensor input) {
  STD_TORCH_CHECK(is_packed_float(input) && is_packed_float(out), "relu: both tensors must be contiguous and float32");
  STD_TORCH_CHECK(out.sizes().equals(input.sizes()), "relu: out and input differ in shape");
  STD_TORCH_CHECK(out.device() == input.device(), "relu: out and input are on different devices");
#if defined(CUDA_KERNEL)
  const torch::stable::accelerator::DeviceGuard guard(input.get_device_index());
#endif
  const char *error = relu_launch(static_cast<float *>(out.mutable_data_ptr()),
                                  static_cast<const float *>(input.const_data_ptr()), input.numel(),
                                  current_queue(input.get_device_index()));
  STD_TORCH_CHECK(error == nullptr, "relu: ", error);
}

}  // namespace

// TORCH_EXTENSION_NAME is unique to each build, so several builds of this kernel can live in one process.
STABLE_TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) { ops.def("relu(Tensor! out, Tensor input) -> ()"); }

#if defined(CPU_KERNEL)
STABLE_TORCH_LIBRARY_IMPL_EXPAND(TORCH_EXTENSION_NAME, CPU, ops) { ops.impl("relu", TORCH_BOX(&relu)); }
#elif defined(CUDA_KERNEL)
STABLE_TORCH_LIBRARY_IMPL_EXPAND(TORCH_EXTENSION_NAME, CUDA, ops) { ops.impl("relu", TORCH_BOX(&relu)); }
#endif

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
