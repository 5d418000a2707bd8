#include <torch/library.h>

#include "torch_binding.h"
#include "registration.h"

// TORCH_LIBRARY(img2gray, ops) declares the operator.
TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("img2gray(Tensor input, Tensor! output) -> ()");
}

TORCH_LIBRARY_IMPL_EXPAND(TORCH_EXTENSION_NAME, CPU, ops) {
  ops.impl("img2gray", &img2gray_cpu);
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
