// One step of the affine recurrence and of its adjoint on a panel of paths
// (paper: eq:linear-approx-flow, eq:gated-recurrence).
#pragma once

#include "basis.h"
#include "prefetch.h"

namespace slisde {
namespace SLISDE_ISA {

// A panel's rows for one step. `weights` are dt and the increments, row 0 being dt.
template <class T>
struct StepPanel {
  const T* weights;   // [1+m][panel]
  const T* input;     // [d][panel]: the state forward, the costate backward
  const T* scale;     // [d][panel] or null
  T* diagonal;        // [d][panel]: receives the unscaled diagonal of F, or null
  T* output;          // [d][panel], added to
};

// Multiplies entry r of a register tile by its scale; F is never in memory, so this is where the
// gate meets the diagonal.
template <class T, int R, int V>
SLISDE_INLINE void gate_entry(Vec<T> (&entries)[R][V], int r, const StepPanel<T>& panel, index row) {
  if (panel.scale == nullptr) return;
  for (int v = 0; v < V; ++v) {
    const index at = row * panel_width<T> + v * lanes<T>;
    if (panel.diagonal != nullptr) store(panel.diagonal + at, entries[r][v]);
    entries[r][v] *= load(panel.scale + at);
  }
}

template <class T, int R, int V>
SLISDE_INLINE void add_group(Vec<T> (&sum)[V], const T* base, const T* channels, index noise,
                             const StepPanel<T>& panel, index input_row, index row) {
  Vec<T> entries[R][V];
  fill<T, R, V>(entries, base);
  accumulate<T, R, V>(entries, channels, panel.weights + panel_width<T>, noise);
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
    if (input_row + r == row) gate_entry<T, R, V>(entries, r, panel, row);
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v)
      sum[v] += entries[r][v] * load(panel.input + (input_row + r) * panel_width<T> + v * lanes<T>);
}

// output += F input, or F^T input when the coefficients were packed transposed.
template <class T, int V>
static void apply_blocks(const Shape& s, const Coefficients<T>& c, const StepPanel<T>& panel,
                         Prefetcher<T>& ahead) {
  const T* base = c.base;
  const T* entries = c.entries;
  for (index row = 0; row < s.latent; ++row) {
    ahead.next();
    const index first = row / s.block * s.block;
    T* output = panel.output + row * panel_width<T>;
    Vec<T> sum[V];
    for (int v = 0; v < V; ++v) sum[v] = load(output + v * lanes<T>);
    for (index l = 0; l < s.block; l += rows_per_group) {
      with_rows(s.block - l, [&](auto rows) __attribute__((always_inline)) {
        add_group<T, decltype(rows)::value, V>(sum, base, entries, s.matrix_noise, panel, first + l,
                                               row);
      });
      base += rows_per_group;
      entries += rows_per_group * s.matrix_noise;
    }
    for (int v = 0; v < V; ++v) store(output + v * lanes<T>, sum[v]);
  }
}

template <class T, int R, int V>
SLISDE_INLINE void apply_diagonal_group(const Shape& s, const Coefficients<T>& c,
                                        const StepPanel<T>& panel, index row) {
  Vec<T> entries[R][V];
  fill<T, R, V>(entries, c.base + row);
  accumulate<T, R, V>(entries, c.entries + row * s.matrix_noise, panel.weights + panel_width<T>,
                      s.matrix_noise);
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    gate_entry<T, R, V>(entries, r, panel, row + r);
    for (int v = 0; v < V; ++v) {
      const index at = (row + r) * panel_width<T> + v * lanes<T>;
      store(panel.output + at, load(panel.output + at) + entries[r][v] * load(panel.input + at));
    }
  }
}

template <class T, int V>
static void apply_matrices(const Shape& s, const Coefficients<T>& c, const StepPanel<T>& panel,
                           Prefetcher<T>& ahead) {
  if (s.block > 1) return apply_blocks<T, V>(s, c, panel, ahead);
  for (index row = 0; row < s.latent; row += rows_per_group) {
    for (int r = 0; r < rows_per_group; ++r) ahead.next();
    with_rows(s.latent - row, [&](auto rows) __attribute__((always_inline)) {
      apply_diagonal_group<T, decltype(rows)::value, V>(s, c, panel, row);
    });
  }
}

// output = g + offset, with g = b dt + sum_j d_j dW_j.
template <class T, int V>
static void shift(const Shape& s, const Coefficients<T>& c, const T* weights, const T* offset,
                  T* output) {
  for (index row = 0; row < s.latent; row += rows_per_group)
    with_rows(s.latent - row, [&](auto rows) __attribute__((always_inline)) {
      constexpr int R = decltype(rows)::value;
      Vec<T> sum[R][V];
      fill<T, R, V>(sum, c.shift_base + row);
      accumulate<T, R, V>(sum, c.shifts + row * s.vector_noise, weights + panel_width<T>,
                          s.vector_noise);
      for (int r = 0; r < R; ++r)
        for (int v = 0; v < V; ++v) {
          const index at = (row + r) * panel_width<T> + v * lanes<T>;
          store(output + at, offset == nullptr ? sum[r][v] : sum[r][v] + load(offset + at));
        }
    });
}

// gradient[j] = costate . (C_j state + d_j) for the channels j of one group of four, on one panel.
// `scaled` is scale * state (or the state itself): the diagonal of F carries the scale.
template <class T, int V>
static void noise_gradient(const Shape& s, const Coefficients<T>& c, const T* costate,
                           const T* state, const T* scaled, T* gradient) {
  const T* a = c.by_noise;
  for (index j = 0; j < s.noise; j += rows_per_group) {
    Vec<T> sum[rows_per_group][V] = {};
    // An absent channel is skipped, not multiplied by zero: 0 * inf is NaN.
    for (index i = 0; i < (s.matrix_noise > 0 ? s.latent : 0); ++i) {
      const index first = i / s.block * s.block;
      Vec<T> lambda[V];
      for (int v = 0; v < V; ++v) lambda[v] = load(costate + i * panel_width<T> + v * lanes<T>);
      for (index l = 0; l < s.block; ++l, a += rows_per_group) {
        const T* z = (first + l == i ? scaled : state) + (first + l) * panel_width<T>;
        Vec<T> product[V];
        for (int v = 0; v < V; ++v) product[v] = lambda[v] * load(z + v * lanes<T>);
#pragma GCC unroll 4
        for (int r = 0; r < rows_per_group; ++r)
          for (int v = 0; v < V; ++v) sum[r][v] += broadcast(a[r]) * product[v];
      }
    }
    if (s.vector_noise > 0) {
      accumulate<T, rows_per_group, V>(sum, a, costate, s.latent);
      a += rows_per_group * s.latent;
    }
    for (index r = 0; r < smaller(rows_per_group, s.noise - j); ++r)
      for (int v = 0; v < V; ++v)
        store(gradient + (j + r) * panel_width<T> + v * lanes<T>, sum[r][v]);
  }
}

}  // namespace SLISDE_ISA
}  // namespace slisde
