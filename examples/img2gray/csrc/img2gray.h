// The CUDA side of img2gray as the binding sees it. Free of torch.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

enum class PixelType { kUInt8, kFloat32 };

// A batch of images where they lie in device memory: strides count elements, so no layout needs a copy.
struct ImagesIn {
  const void *data;
  int64_t batch_stride, channel_stride, row_stride, column_stride;
};
struct ImagesOut {
  void *data;
  int64_t batch_stride, row_stride, column_stride;
};

// Enqueues out[b][y][x] = 0.21 R + 0.72 G + 0.07 B on `stream`, computed in float32; R, G and B are channels 0, 1 and 2
// of input[b]. uint8 results are rounded to the nearest integer. The memory of `input` and `out` must not overlap.
// Returns the error of the launch; the work itself is asynchronous.
cudaError_t img2gray_launch(ImagesOut out, ImagesIn input, int64_t batch, int64_t height, int64_t width, PixelType type,
                            cudaStream_t stream);
