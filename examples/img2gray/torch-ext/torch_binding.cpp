// Checks the arguments, launches the kernel on torch's current stream and registers the operator.
#include "torch_binding.h"

#include <ATen/MemoryOverlap.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include "img2gray.h"
#include "registration.h"

namespace {

PixelType pixel_type(at::ScalarType type) {
  switch (type) {
    case at::kByte:
      return PixelType::kUInt8;
    case at::kFloat:
      return PixelType::kFloat32;
    default:
      TORCH_CHECK_TYPE(false, "img2gray takes uint8 and float32 images, got ", type);
  }
}

}  // namespace

void img2gray(at::Tensor &out, const at::Tensor &input) {
  TORCH_CHECK_VALUE(input.dim() == 4 && input.size(1) == 3, "img2gray: input must have shape [B, 3, H, W], got ",
                    input.sizes());
  const int64_t batch = input.size(0), height = input.size(2), width = input.size(3);
  const int64_t out_sizes[] = {batch, 1, height, width};
  TORCH_CHECK_VALUE(out.sizes() == at::IntArrayRef(out_sizes), "img2gray: out must have shape ",
                    at::IntArrayRef(out_sizes), ", got ", out.sizes());
  TORCH_CHECK_TYPE(out.scalar_type() == input.scalar_type(), "img2gray: out is ", out.scalar_type(), " but input is ",
                   input.scalar_type());
  TORCH_CHECK_VALUE(out.device() == input.device(), "img2gray: out is on ", out.device(), " but input is on ",
                    input.device());
  at::assert_no_internal_overlap(out);
  at::assert_no_overlap(out, input);

  const ImagesOut images_out{out.mutable_data_ptr(), out.stride(0), out.stride(2), out.stride(3)};
  const ImagesIn images_in{input.const_data_ptr(), input.stride(0), input.stride(1), input.stride(2), input.stride(3)};
  const PixelType type = pixel_type(input.scalar_type());
  const c10::cuda::CUDAGuard guard(input.device());
  C10_CUDA_CHECK(
      img2gray_launch(images_out, images_in, batch, height, width, type, c10::cuda::getCurrentCUDAStream()));
}

// TORCH_EXTENSION_NAME is unique to each build, so several builds of this kernel can live in one process.
TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("img2gray(Tensor! out, Tensor input) -> ()");
  ops.impl("img2gray", c10::kCUDA, &img2gray);
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
