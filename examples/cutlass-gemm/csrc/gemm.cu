// The product of two half matrices with tensor cores, by the device-wide interface of CUTLASS.
#include "gemm.h"

#include <cutlass/gemm/device/gemm.h>

using RowMajor = cutlass::layout::RowMajor;
using ColumnMajor = cutlass::layout::ColumnMajor;
using Gemm = cutlass::gemm::device::Gemm<cutlass::half_t, RowMajor, cutlass::half_t, ColumnMajor, float, RowMajor,
                                         float, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80>;

const char *gemm_launch(float *out, const void *a, const void *b, int m, int n, int k, void *stream) {
  const auto *left = static_cast<const cutlass::half_t *>(a);
  const auto *right = static_cast<const cutlass::half_t *>(b);
  const Gemm::Arguments arguments({m, n, k}, {left, k}, {right, k}, {out, n}, {out, n}, {1.0F, 0.0F});
  Gemm gemm;
  const cutlass::Status status = gemm(arguments, nullptr, static_cast<cudaStream_t>(stream));
  return status == cutlass::Status::kSuccess ? nullptr : cutlass::cutlassGetStatusString(status);
}
