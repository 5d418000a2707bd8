#pragma once

#include <torch/torch.h>

void img2gray_cpu(torch::Tensor const &input, torch::Tensor &output);
