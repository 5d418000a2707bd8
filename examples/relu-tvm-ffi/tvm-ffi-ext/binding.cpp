// relu as a function of TVM's foreign function interface: checks arguments and calls the code of this build's backend.
#include "relu.h"

#include <algorithm>

#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

namespace {

using tvm::ffi::TensorView;

#if defined(CUDA_KERNEL)
constexpr DLDeviceType kDevice = kDLCUDA;
constexpr const char *kDeviceName = "CUDA";
#else
constexpr DLDeviceType kDevice = kDLCPU;
constexpr const char *kDeviceName = "CPU";
#endif

void check(const TensorView &tensor, const char *name) {
  if (tensor.device().device_type != kDevice) {
    TVM_FFI_THROW(ValueError) << name << " is not a " << kDeviceName << " tensor, which this build is for";
  }
  const DLDataType dtype = tensor.dtype();
  if (dtype.code != kDLFloat || dtype.bits != 32 || dtype.lanes != 1) {
    TVM_FFI_THROW(TypeError) << name << " is not float32";
  }
  // Strides of a tensor without elements may be anything.
  if (tensor.numel() != 0 && !tensor.IsContiguous()) {
    TVM_FFI_THROW(ValueError) << name << " is not contiguous";
  }
}

// out = max(input, 0). `out` may be `input`.
void relu(TensorView out, TensorView input) {
  check(out, "out");
  check(input, "input");
  const auto expected = input.shape();
  const auto shape = out.shape();
  if (!std::equal(shape.begin(), shape.end(), expected.begin(), expected.end())) {
    TVM_FFI_THROW(ValueError) << "out and input differ in shape";
  }
  const DLDevice device = input.device();
  if (out.device().device_id != device.device_id) {
    TVM_FFI_THROW(ValueError) << "out and input are on different devices";
  }

  float *to = static_cast<float *>(out.data_ptr());
  const float *from = static_cast<const float *>(input.data_ptr());
#if defined(CUDA_KERNEL)
  // The stream that the caller's framework works on.
  void *stream = TVMFFIEnvGetStream(device.device_type, device.device_id);
  if (const char *error = relu_cuda(to, from, input.numel(), device.device_id, stream)) {
    TVM_FFI_THROW(RuntimeError) << "relu: " << error;
  }
#else
  relu_cpu(to, from, input.numel());
#endif
}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(relu, relu)
