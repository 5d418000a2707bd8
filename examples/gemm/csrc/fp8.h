// The two small formats of gemm, by their bits: every compiler and every GPU can do this.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define ON_EVERY_DEVICE __host__ __device__
#else
#define ON_EVERY_DEVICE
#endif

// A float8 e4m3fnuz: sign, 4 bits of exponent with bias 8, 3 of fraction. There is no infinity and no negative zero, whose
// bits are the one NaN.
ON_EVERY_DEVICE inline float float_of_fp8(uint8_t bits) {
  const int exponent = (bits >> 3) & 15;
  const int fraction = bits & 7;
  // The bits of a float: 2^-10 is the unit of numbers without an exponent, and 127 - 8 moves the bias.
  float value = static_cast<float>(fraction) / 1024.0f;
  if (exponent != 0) {
    const uint32_t wide = static_cast<uint32_t>(exponent + 127 - 8) << 23 | static_cast<uint32_t>(fraction) << 20;
    memcpy(&value, &wide, sizeof value);
  }
  if (bits == 0x80) {
    const uint32_t nan = 0x7fc00000;
    memcpy(&value, &nan, sizeof value);
  }
  return (bits & 0x80) != 0 ? -value : value;
}

// The nearest bfloat16, and of two the even one.
ON_EVERY_DEVICE inline uint16_t bfloat16_of_float(float value) {
  uint32_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  if (value != value) {
    return 0x7fc0;
  }
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
