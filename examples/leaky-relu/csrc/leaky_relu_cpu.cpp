// leaky relu and its gradient on the CPU.
#include "leaky_relu.h"

template <typename T>
const char *leaky_launch(T *out, const T *values, const T *signs, double slope, int64_t count, void * /*queue*/) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = signs[i] > 0 ? values[i] : static_cast<T>(slope) * values[i];
  }
  return nullptr;
}

template const char *leaky_launch(float *, const float *, const float *, double, int64_t, void *);
template const char *leaky_launch(double *, const double *, const double *, double, int64_t, void *);
