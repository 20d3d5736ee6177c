// Gradients of the coefficients: sums over the paths of a tile of increment * costate * state.
#pragma once

#include "microkernel.h"
#include "panel.h"

namespace slisde {
namespace SLISDE_ISA {

constexpr int channels_per_group = 3;

// out[j][r] += sum_paths weights[j] * factor * rows[r] (no factor if not `with_factor`). Lanes hold
// paths, so every sum ends with a reduction over lanes; a tile of many panels makes that end rare.
template <class T, int J, int R, bool with_factor>
static void add_products(const View& view, const T* weights, index weight_rows, const T* factor,
                         const T* const* rows, index row_count, T* out, index out_stride) {
  Vec<T> sum[J][R] = {};
  const T* row[R];
  for (int r = 0; r < R; ++r) row[r] = rows[r];
  const index panels = view.count();
  for (index p = 0; p < panels; ++p) {
    const index width = view.vectors(p) * lanes<T>;
    for (index c = 0; c < width; c += lanes<T>) {
      Vec<T> left[J];
#pragma GCC unroll 4
      for (int j = 0; j < J; ++j) left[j] = load(weights + j * panel_width<T> + c);
      if constexpr (with_factor) {
        const Vec<T> f = load(factor + c);
#pragma GCC unroll 4
        for (int j = 0; j < J; ++j) left[j] *= f;
      }
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        const Vec<T> right = load(row[r] + c);
#pragma GCC unroll 4
        for (int j = 0; j < J; ++j) sum[j][r] += left[j] * right;
      }
    }
    weights += weight_rows * panel_width<T>;
    factor += row_count * panel_width<T>;
    for (int r = 0; r < R; ++r) row[r] += row_count * panel_width<T>;
  }
  for (int j = 0; j < J; ++j) {
    if constexpr (R == rows_per_group) {
      add_lane_sums<T>(sum[j][0], sum[j][1], sum[j][2], sum[j][3], out + j * out_stride);
    } else {
      for (int r = 0; r < R; ++r) out[j * out_stride + r] += lane_sum<T>(sum[j][r]);
    }
  }
}

// All channels of up to four rows.
template <class T, bool with_factor>
static void add_channels(const View& view, const T* weights, index weight_rows, index channels,
                         const T* factor, const T* const* rows, index valid, index row_count,
                         T* out, index out_stride) {
  with_rows(valid, [&](auto r) {
    constexpr int R = decltype(r)::value;
    index j = 0;
    const auto next = [&](auto count) {
      constexpr int J = decltype(count)::value;
      add_products<T, J, R, with_factor>(view, weights + j * panel_width<T>, weight_rows, factor,
                                         rows, row_count, out + j * out_stride, out_stride);
      j += J;
    };
    while (channels - j >= 3) next(Constant<3>{});
    if (channels - j == 2) next(Constant<2>{});
    if (channels - j == 1) next(Constant<1>{});
  });
}

// Panels of one step of a tile: weights [1+m], costate, state and scale * state [d] each.
template <class T>
struct StepTile {
  const T* weights;
  const T* costate;
  const T* state;
  const T* scaled;  // equals `state` without a gate
  index rows;       // rows allocated per panel of the last three
};

template <class T>
static void add_matrix_gradient(const View& view, const Shape& s, const StepTile<T>& tile, T* out) {
  const index weight_rows = 1 + s.noise;
  for (index i = 0; i < s.latent; ++i) {
    const index first = i / s.block * s.block;
    const T* lambda = tile.costate + i * panel_width<T>;
    for (index l = 0; l < s.block; l += rows_per_group) {
      const index valid = smaller(rows_per_group, s.block - l);
      const T* rows[rows_per_group] = {};
      for (index r = 0; r < valid; ++r)
        rows[r] = (first + l + r == i ? tile.scaled : tile.state) + (first + l + r) * panel_width<T>;
      add_channels<T, true>(view, tile.weights, weight_rows, 1 + s.matrix_noise, lambda, rows,
                            valid, tile.rows, out + i * s.block + l, s.matrix_entries());
    }
  }
}

// Vectors need no state; a diagonal matrix is a vector whose "costate" is costate * scale * state.
template <class T>
static void add_vector_gradient(const View& view, const Shape& s, const T* weights, index channels,
                                const T* panels, index panel_rows, T* out) {
  for (index i = 0; i < s.latent; i += rows_per_group) {
    const index valid = smaller(rows_per_group, s.latent - i);
    const T* rows[rows_per_group] = {};
    for (index r = 0; r < valid; ++r) rows[r] = panels + (i + r) * panel_width<T>;
    add_channels<T, false>(view, weights, 1 + s.noise, channels, panels, rows, valid, panel_rows,
                           out + i, s.latent);
  }
}

}  // namespace SLISDE_ISA
}  // namespace slisde
