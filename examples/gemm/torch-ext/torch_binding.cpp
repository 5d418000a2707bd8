// Checks the arguments, calls the code of this build's backend and registers the operator.
#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "gemm.h"
#include "registration.h"

#if defined(CUDA_KERNEL)
#include <c10/cuda/CUDAStream.h>
#elif defined(ROCM_KERNEL)
#include <c10/hip/HIPStream.h>
#endif

namespace {

// The queue that torch works in on the tensor's device.
void *current_queue([[maybe_unused]] const at::Tensor &tensor) {
#if defined(CUDA_KERNEL)
  return c10::cuda::getCurrentCUDAStream(tensor.get_device()).stream();
#elif defined(ROCM_KERNEL)
  return c10::hip::getCurrentHIPStream(tensor.get_device()).stream();
#else
  return nullptr;
#endif
}

void check(const at::Tensor &tensor, const char *name, at::ScalarType type, int64_t rows, int64_t columns,
           c10::Device device) {
  TORCH_CHECK_TYPE(tensor.scalar_type() == type, "gemm: ", name, " is ", tensor.scalar_type(), ", not ", type);
  TORCH_CHECK_VALUE(tensor.dim() == 2 && tensor.size(0) == rows && tensor.size(1) == columns, "gemm: ", name,
                    " must have shape [", rows, ", ", columns, "], got ", tensor.sizes());
  TORCH_CHECK_VALUE(tensor.is_contiguous(), "gemm: ", name, " is not contiguous");
  TORCH_CHECK_VALUE(tensor.device() == device, "gemm: ", name, " is on ", tensor.device(), " but a is on ", device);
}

void gemm(at::Tensor &out, const at::Tensor &a, const at::Tensor &b, const at::Tensor &a_scale,
          const at::Tensor &b_scale) {
  TORCH_CHECK_VALUE(a.dim() == 2 && b.dim() == 2, "gemm: a and b must be matrices");
  const int64_t m = a.size(0), n = b.size(0), k = a.size(1);
  TORCH_CHECK_VALUE(k % kScaleBlock == 0, "gemm: the columns of a must be a multiple of ", kScaleBlock, ", got ", k);
  check(a, "a", at::kFloat8_e4m3fnuz, m, k, a.device());
  check(b, "b", at::kFloat8_e4m3fnuz, n, k, a.device());
  check(a_scale, "a_scale", at::kFloat, m, k / kScaleBlock, a.device());
  check(b_scale, "b_scale", at::kFloat, (n + kScaleBlock - 1) / kScaleBlock, k / kScaleBlock, a.device());
  check(out, "out", at::kBFloat16, m, n, a.device());
  const c10::DeviceGuard guard(a.device());
  const char *error = gemm_launch(
      static_cast<uint16_t *>(out.mutable_data_ptr()), static_cast<const uint8_t *>(a.const_data_ptr()),
      static_cast<const uint8_t *>(b.const_data_ptr()), a_scale.const_data_ptr<float>(), b_scale.const_data_ptr<float>(), m,
      n, k, current_queue(a));
  TORCH_CHECK(error == nullptr, "gemm: ", error);
}

}  // namespace

// TORCH_EXTENSION_NAME is unique to each build, so several builds of this kernel can live in one process.
TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("gemm(Tensor! out, Tensor a, Tensor b, Tensor a_scale, Tensor b_scale) -> ()");
#if defined(CPU_KERNEL)
  ops.impl("gemm", c10::kCPU, &gemm);
#elif defined(CUDA_KERNEL) || defined(ROCM_KERNEL)
  ops.impl("gemm", c10::kCUDA, &gemm);
#endif
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
