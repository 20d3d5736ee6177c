// Vectors of the widest kind this compilation may use, by GCC/Clang vector extensions.
//
// Everything lives in a namespace named after the instruction set, and no header of the standard
// library with out-of-line templates is used, so that no function compiled for one instruction set
// can be picked by the linker for another.
#pragma once

#include <cstdint>
#include <utility>

#if defined(__AVX__)
#include <immintrin.h>
#endif

#include "problem.h"

#ifndef SLISDE_ISA
#error "compile with -DSLISDE_ISA=<name of the instruction set>"
#endif

#define SLISDE_INLINE static inline __attribute__((always_inline))

namespace slisde {
namespace SLISDE_ISA {

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif

template <class T>
struct Simd;
template <>
struct Simd<float> {
  typedef float Vec __attribute__((vector_size(vector_bytes)));
  typedef std::int32_t Int __attribute__((vector_size(vector_bytes)));
};
template <>
struct Simd<double> {
  typedef double Vec __attribute__((vector_size(vector_bytes)));
  typedef std::int64_t Int __attribute__((vector_size(vector_bytes)));
};
template <class T>
using Vec = typename Simd<T>::Vec;
template <class T>
using Int = typename Simd<T>::Int;
template <class T>
constexpr int lanes = vector_bytes / int(sizeof(T));
// Storage width of a panel of paths. With the 4 x 3 register tile, 12 accumulators hide the latency
// of the multiply-adds and leave room for three operands and one broadcast in 16 registers.
constexpr int widest = 3;
template <class T>
constexpr int panel_width = widest * lanes<T>;
constexpr int rows_per_group = 4;

template <class T>
SLISDE_INLINE Vec<T> load(const T* p) {
  Vec<T> v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
SLISDE_INLINE void store(T* p, Vec<T> v) {
  __builtin_memcpy(p, &v, sizeof v);
}
// x - 0 is x for every x including -0 and NaN, so the compiler makes a bare broadcast of it.
template <class T>
SLISDE_INLINE Vec<T> broadcast(T x) {
  return x - Vec<T>{};
}

// Stores that go past the caches need an aligned address, and a fence before another thread reads.
#if defined(__AVX512F__)
SLISDE_INLINE void store_past_caches(float* p, Vec<float> v) { _mm512_stream_ps(p, v); }
SLISDE_INLINE void store_past_caches(double* p, Vec<double> v) { _mm512_stream_pd(p, v); }
#elif defined(__AVX__)
SLISDE_INLINE void store_past_caches(float* p, Vec<float> v) { _mm256_stream_ps(p, v); }
SLISDE_INLINE void store_past_caches(double* p, Vec<double> v) { _mm256_stream_pd(p, v); }
#else
template <class T>
SLISDE_INLINE void store_past_caches(T* p, Vec<T> v) {
  store(p, v);
}
#endif
SLISDE_INLINE void fence_stores() {
#if defined(__AVX__)
  _mm_sfence();
#endif
}

// Larger and smaller of two vectors; where one is NaN, the second operand. These are single
// instructions, which the compiler does not find behind a comparison and a choice.
#if defined(__AVX512F__)
SLISDE_INLINE Vec<float> larger(Vec<float> a, Vec<float> b) { return _mm512_max_ps(a, b); }
SLISDE_INLINE Vec<float> lesser(Vec<float> a, Vec<float> b) { return _mm512_min_ps(a, b); }
SLISDE_INLINE Vec<double> larger(Vec<double> a, Vec<double> b) { return _mm512_max_pd(a, b); }
SLISDE_INLINE Vec<double> lesser(Vec<double> a, Vec<double> b) { return _mm512_min_pd(a, b); }
#elif defined(__AVX__)
SLISDE_INLINE Vec<float> larger(Vec<float> a, Vec<float> b) { return _mm256_max_ps(a, b); }
SLISDE_INLINE Vec<float> lesser(Vec<float> a, Vec<float> b) { return _mm256_min_ps(a, b); }
SLISDE_INLINE Vec<double> larger(Vec<double> a, Vec<double> b) { return _mm256_max_pd(a, b); }
SLISDE_INLINE Vec<double> lesser(Vec<double> a, Vec<double> b) { return _mm256_min_pd(a, b); }
#else
template <class V>
SLISDE_INLINE V larger(V a, V b) {
  return a > b ? a : b;
}
template <class V>
SLISDE_INLINE V lesser(V a, V b) {
  return a < b ? a : b;
}
#endif

SLISDE_INLINE index round_up(index n, index multiple) {
  return (n + multiple - 1) / multiple * multiple;
}
SLISDE_INLINE index smaller(index a, index b) { return a < b ? a : b; }

namespace detail {
// Lane l of the two halves of one butterfly step at distance s: blocks of s lanes change places.
template <class T, int s, std::size_t... l>
SLISDE_INLINE Vec<T> butterfly_low(Vec<T> a, Vec<T> b, std::index_sequence<l...>) {
  return __builtin_shufflevector(a, b, ((l & s) ? int(l) - s + lanes<T> : int(l))...);
}
template <class T, int s, std::size_t... l>
SLISDE_INLINE Vec<T> butterfly_high(Vec<T> a, Vec<T> b, std::index_sequence<l...>) {
  return __builtin_shufflevector(a, b, ((l & s) ? int(l) + lanes<T> : int(l) + s)...);
}
// First step of a sum over lanes, a and b taking turns: for four-byte lanes in an order that is one
// instruction on x86 (the butterfly at distance 1 is two), which a sum does not mind.
template <class T, std::size_t... l>
SLISDE_INLINE Vec<T> paired_sums(Vec<T> a, Vec<T> b, std::index_sequence<l...> all) {
  if constexpr (sizeof(T) == 4) {
    constexpr int n = lanes<T>;
    return __builtin_shufflevector(a, b, int(l / 4 * 4 + l % 4 / 2 + (l & 1 ? n : 0))...) +
           __builtin_shufflevector(a, b, int(l / 4 * 4 + l % 4 / 2 + 2 + (l & 1 ? n : 0))...);
  } else {
    return butterfly_low<T, 1>(a, b, all) + butterfly_high<T, 1>(a, b, all);
  }
}
template <class T, int s>
SLISDE_INLINE void transpose_steps(Vec<T> (&rows)[lanes<T>]) {
  if constexpr (s < lanes<T>) {
    constexpr auto all = std::make_index_sequence<lanes<T>>{};
#pragma GCC unroll 16
    for (int i = 0; i < lanes<T>; ++i) {
      if (i & s) continue;
      const Vec<T> a = rows[i], b = rows[i + s];
      rows[i] = butterfly_low<T, s>(a, b, all);
      rows[i + s] = butterfly_high<T, s>(a, b, all);
    }
    transpose_steps<T, 2 * s>(rows);
  }
}
}  // namespace detail

// rows[i][l] and rows[l][i] change places.
template <class T>
SLISDE_INLINE void transpose(Vec<T> (&rows)[lanes<T>]) {
  detail::transpose_steps<T, 1>(rows);
}

template <class T>
SLISDE_INLINE T lane_sum(Vec<T> v) {
  T total = 0;
  for (int l = 0; l < lanes<T>; ++l) total += v[l];
  return total;
}

// out[r] += sum over lanes of v[r], for four vectors at once: two butterfly additions leave four
// sums side by side in every quarter, which is cheaper than four separate reductions.
template <class T>
SLISDE_INLINE void add_lane_sums(Vec<T> v0, Vec<T> v1, Vec<T> v2, Vec<T> v3, T* out) {
  if constexpr (lanes<T> >= 4) {
    constexpr auto all = std::make_index_sequence<lanes<T>>{};
    const Vec<T> a = detail::paired_sums<T>(v0, v1, all);
    const Vec<T> b = detail::paired_sums<T>(v2, v3, all);
    const Vec<T> c = detail::butterfly_low<T, 2>(a, b, all) +
                     detail::butterfly_high<T, 2>(a, b, all);
    typedef T Four __attribute__((vector_size(4 * sizeof(T))));
    Four part[lanes<T> / 4];
    __builtin_memcpy(part, &c, sizeof c);
    Four sum;
    __builtin_memcpy(&sum, out, sizeof sum);
    Four total = part[0];
    for (int q = 1; q < lanes<T> / 4; ++q) total += part[q];
    sum += total;
    __builtin_memcpy(out, &sum, sizeof sum);
  } else {
    out[0] += lane_sum<T>(v0);
    out[1] += lane_sum<T>(v1);
    out[2] += lane_sum<T>(v2);
    out[3] += lane_sum<T>(v3);
  }
}

}  // namespace SLISDE_ISA
}  // namespace slisde
