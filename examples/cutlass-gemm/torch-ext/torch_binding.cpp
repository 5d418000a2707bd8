// Checks the arguments, calls the kernel and registers the operator.
#include <algorithm>
#include <limits>

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include "gemm.h"
#include "registration.h"

namespace {

void check(const at::Tensor &tensor, const char *name, at::ScalarType type, int64_t rows, int64_t columns,
           c10::Device device) {
  TORCH_CHECK_TYPE(tensor.scalar_type() == type, "gemm: ", name, " is ", tensor.scalar_type(), ", not ", type);
  TORCH_CHECK_VALUE(tensor.dim() == 2 && tensor.size(0) == rows && tensor.size(1) == columns, "gemm: ", name,
                    " must have shape [", rows, ", ", columns, "], got ", tensor.sizes());
  TORCH_CHECK_VALUE(tensor.is_contiguous(), "gemm: ", name, " is not contiguous");
  TORCH_CHECK_VALUE(tensor.device() == device, "gemm: ", name, " is on ", tensor.device(), " but a is on ", device);
}

void gemm(at::Tensor &out, const at::Tensor &a, const at::Tensor &b) {
  TORCH_CHECK_VALUE(a.dim() == 2 && b.dim() == 2, "gemm: a and b must be matrices");
  const int64_t m = a.size(0), n = b.size(0), k = a.size(1);
  TORCH_CHECK_VALUE(k % 8 == 0 && n % 4 == 0, "gemm: columns must be a multiple of 8, and rows of b of 4");
  TORCH_CHECK_VALUE(std::max({m, n, k}) <= std::numeric_limits<int>::max(), "gemm: the matrices are too large");
  check(a, "a", at::kHalf, m, k, a.device());
  check(b, "b", at::kHalf, n, k, a.device());
  check(out, "out", at::kFloat, m, n, a.device());
  if (out.numel() == 0) {
    return;
  }
  const c10::DeviceGuard guard(a.device());
  const char *error =
      gemm_launch(out.mutable_data_ptr<float>(), a.const_data_ptr(), b.const_data_ptr(), static_cast<int>(m),
                  static_cast<int>(n), static_cast<int>(k), c10::cuda::getCurrentCUDAStream(a.get_device()).stream());
  TORCH_CHECK(error == nullptr, "gemm: ", error);
}

}  // namespace

// TORCH_EXTENSION_NAME is unique to each build, so several builds of this kernel can live in one process.
TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("gemm(Tensor! out, Tensor a, Tensor b) -> ()");
  ops.impl("gemm", c10::kCUDA, &gemm);
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
