// The work as the binding sees it: plain pointers, so that the code behind needs no header of torch.
#pragma once

// out (m x n, float) = a (m x k, half) * b (n x k, half), transposed; all row by row. k is a multiple of 8, n of 4. `stream` is a
// cudaStream_t. Returns null, or CUTLASS's words for a mistake.
const char *gemm_launch(float *out, const void *a, const void *b, int m, int n, int k, void *stream);
