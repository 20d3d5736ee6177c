// The register-blocked product that all kernels share.
#pragma once

#include "simd.h"

namespace slisde {
namespace SLISDE_ISA {

// tile[r][v] += sum_k a[k][r] * b[k][v]: R broadcasts and V vectors per R * V multiply-adds, so that
// the two load ports are not the bound. Unless told otherwise, `a` has rows of four and `b` rows of a
// panel.
template <class T, int R, int V>
SLISDE_INLINE void accumulate(Vec<T> (&tile)[R][V], const T* a, const T* b, index terms,
                              index a_row = rows_per_group, index b_row = panel_width<T>) {
  for (index k = 0; k < terms; ++k, a += a_row, b += b_row) {
    Vec<T> column[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) column[v] = load(b + v * lanes<T>);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const Vec<T> entry = broadcast(a[r]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) tile[r][v] += entry * column[v];
    }
  }
}

template <class T, int R, int V>
SLISDE_INLINE void fill(Vec<T> (&tile)[R][V], const T* values) {
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) tile[r][v] = broadcast(values[r]);
}

// Calls f with std::integral_constant-like V in {1, 2, 3}, or R in {1, 2, 3, 4}: loops over a
// register tile must have constant bounds.
template <int n>
struct Constant {
  static constexpr int value = n;
};
template <class F>
SLISDE_INLINE void with_vectors(index vectors, F f) {
  if (vectors == 3) f(Constant<3>{});
  else if (vectors == 2) f(Constant<2>{});
  else f(Constant<1>{});
}
template <class F>
SLISDE_INLINE void with_rows(index rows, F f) {
  if (rows >= 4) f(Constant<4>{});
  else if (rows == 3) f(Constant<3>{});
  else if (rows == 2) f(Constant<2>{});
  else f(Constant<1>{});
}

}  // namespace SLISDE_ISA
}  // namespace slisde
