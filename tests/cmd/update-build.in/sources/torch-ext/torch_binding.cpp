#include <torch/library.h>

#include "torch_binding.h"

// TORCH_LIBRARY(img2gray, ops) declares the operator.
TORCH_LIBRARY(img2gray, ops) {
  ops.def("img2gray(Tensor input, Tensor! output) -> ()");
}

TORCH_LIBRARY_IMPL(img2gray, CPU, ops) {
  ops.impl("img2gray", &img2gray_cpu);
}
