// sigmoid and tanh on vectors, from one polynomial exponential.
//
// No -ffast-math: NaN stays NaN, sigmoid(+-inf) is 1 and 0, tanh(+-inf) is +-1, as in JAX.
#pragma once

#include "simd.h"

namespace slisde {
namespace SLISDE_ISA {

template <class T>
struct Exponential;
template <>
struct Exponential<float> {
  static constexpr float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  static constexpr float log2_e = 1.44269504088896341f;
  static constexpr float ln2_high = 0.693359375f;
  static constexpr float ln2_low = -2.12194440e-4f;
  static constexpr float lowest = -87.33f, highest = 89.0f;  // the latter gives infinity
  static constexpr float tanh_limit = 20.0f;  // of 2y: beyond it tanh is 1 to the bit
  static constexpr float sigmoid_limit = 60.0f;
  static constexpr int mantissa = 23, bias = 127, degree = 7;
};
template <>
struct Exponential<double> {
  static constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double log2_e = 1.44269504088896340736;
  static constexpr double ln2_high = 6.93145751953125e-1;
  static constexpr double ln2_low = 1.42860682030941723212e-6;
  static constexpr double lowest = -708.3, highest = 710.0;
  static constexpr double tanh_limit = 40.0;
  static constexpr double sigmoid_limit = 600.0;
  static constexpr int mantissa = 52, bias = 1023, degree = 13;
};

// exp(x) = power * (1 + fraction), with |fraction| <= 0.42 exact in the relative sense.
template <class T>
SLISDE_INLINE void split_exp(Vec<T> x, Vec<T>& power, Vec<T>& fraction) {
  using E = Exponential<T>;
  constexpr double inverse_factorial[] = {1.0,          1.0,           1.0 / 2,        1.0 / 6,
                                          1.0 / 24,     1.0 / 120,     1.0 / 720,      1.0 / 5040,
                                          1.0 / 40320,  1.0 / 362880,  1.0 / 3628800,  1.0 / 39916800,
                                          1.0 / 479001600, 1.0 / 6227020800.0};
  const Vec<T> shifted = x * T(E::log2_e) + T(E::magic);
  const Vec<T> n = shifted - T(E::magic);
  const Vec<T> r = (x - n * T(E::ln2_high)) - n * T(E::ln2_low);
  Vec<T> series = broadcast(T(inverse_factorial[E::degree]));
#pragma GCC unroll 16
  for (int i = E::degree - 1; i >= 1; --i) series = series * r + T(inverse_factorial[i]);
  fraction = series * r;
  // The low bits of `shifted` are n as an integer.
  Int<T> bits;
  __builtin_memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + E::bias) << E::mantissa;
  __builtin_memcpy(&power, &bits, sizeof bits);
}

// NaN passes through: it is the second operand both times.
template <class T>
SLISDE_INLINE Vec<T> clamp(Vec<T> x, T low, T high) {
  return lesser(broadcast(high), larger(broadcast(low), x));
}

template <class T>
SLISDE_INLINE Vec<T> sigmoid(Vec<T> x) {
  using E = Exponential<T>;
  Vec<T> power, fraction;
  split_exp<T>(clamp<T>(-x, E::lowest, E::highest), power, fraction);
  return T(1) / (T(1) + (power + power * fraction));
}

// tanh(y) = u / (u + 2) with u = exp(2y) - 1, which keeps its relative accuracy near zero. The two
// quotients share one division; the exponent of the sigmoid is cut where it is 1e-26, so that the
// common denominator cannot overflow (its only use is next to 1).
template <class T>
SLISDE_INLINE void sigmoid_and_tanh(Vec<T> x, Vec<T> y, Vec<T>& s, Vec<T>& t) {
  using E = Exponential<T>;
  Vec<T> power, fraction;
  split_exp<T>(clamp<T>(-x, -E::sigmoid_limit, E::sigmoid_limit), power, fraction);
  const Vec<T> below = T(1) + (power + power * fraction);
  split_exp<T>(clamp<T>(y + y, -E::tanh_limit, E::tanh_limit), power, fraction);
  const Vec<T> u = power * fraction + (power - T(1));
  const Vec<T> inverse = T(1) / (below * (u + T(2)));
  s = inverse * (u + T(2));
  t = u * (inverse * below);
}

template <class T>
SLISDE_INLINE Vec<T> square_root(Vec<T> x) {
  for (int l = 0; l < lanes<T>; ++l)
    x[l] = sizeof(T) == 4 ? T(__builtin_sqrtf(float(x[l]))) : T(__builtin_sqrt(double(x[l])));
  return x;
}

}  // namespace SLISDE_ISA
}  // namespace slisde
