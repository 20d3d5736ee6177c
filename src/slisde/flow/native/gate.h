// The gate between two layers (paper: eq:alpha-gate, eq:offset-gate): norm of the previous layer's
// state, product with the gate kernel, sigmoid and tanh, and their adjoints, on a panel of paths.
#pragma once

#include "activations.h"
#include "coefficients.h"
#include "microkernel.h"
#include "panel.h"
#include "prefetch.h"

namespace slisde {
namespace SLISDE_ISA {

// Rows are padded so that whole vectors and whole groups of four can be moved about.
SLISDE_INLINE index padded_rows(index rows) { return round_up(rows, 16); }

// Gate weights twice: [i][i'][4 pre-activations of i] for the product with x, and
// [group of i'][(i, pre-activation)][4 of i'] for its adjoint.
SLISDE_INLINE index packed_gate_half(const Shape& s) {
  return rows_per_group * s.latent * groups_of(s.latent) * rows_per_group;
}

template <class T>
static void pack_gate(const Problem<T>& problem, T* packed) {
  const index d = problem.shape.latent;
  T* adjoint = packed + packed_gate_half(problem.shape);
  for (index i = 0; i < d; ++i)
    for (index x = 0; x < d; ++x)
      for (index r = 0; r < 4; ++r)
        packed[(i * d + x) * 4 + r] = problem.gate_kernel[(r * d + i) * d + x];
  for (index group = 0; group < groups_of(d); ++group)
    for (index i = 0; i < d; ++i)
      for (index r = 0; r < 4; ++r)
        for (index q = 0; q < rows_per_group; ++q) {
          const index x = group * rows_per_group + q;
          *adjoint++ = x < d ? problem.gate_kernel[(r * d + i) * d + x] : T(0);
        }
}

// x := norm(x), and 1 / its denominator, which the adjoint needs, in `inverse`.
template <class T, int V>
static void normalise(const Problem<T>& problem, T* x, T* inverse) {
  const index d = problem.shape.latent;
  const T count = T(d);
  Vec<T> mean[V] = {}, squares[V] = {};
  if (problem.norm == Norm::layer) {
    for (index i = 0; i < d; ++i)
      for (int v = 0; v < V; ++v) mean[v] += load(x + i * panel_width<T> + v * lanes<T>);
    for (int v = 0; v < V; ++v) mean[v] /= count;
  }
  for (index i = 0; i < d; ++i)
    for (int v = 0; v < V; ++v) {
      const Vec<T> centred = load(x + i * panel_width<T> + v * lanes<T>) - mean[v];
      squares[v] += centred * centred;
    }
  Vec<T> r[V];
  for (int v = 0; v < V; ++v) {
    r[v] = T(1) / square_root<T>(squares[v] / count + problem.norm_epsilon);
    store(inverse + v * lanes<T>, r[v]);
  }
  for (index i = 0; i < d; ++i)
    for (int v = 0; v < V; ++v) {
      T* at = x + i * panel_width<T> + v * lanes<T>;
      store(at, (load(at) - mean[v]) * r[v]);
    }
}

// gradient := gradient of the norm's input, from that of its output x.
template <class T, int V>
static void normalise_adjoint(const Problem<T>& problem, const T* x, const T* inverse, T* gradient) {
  const index d = problem.shape.latent;
  const T count = T(d);
  Vec<T> mean[V] = {}, along[V] = {};
  for (index i = 0; i < d; ++i)
    for (int v = 0; v < V; ++v) {
      const index at = i * panel_width<T> + v * lanes<T>;
      mean[v] += load(gradient + at);
      along[v] += load(gradient + at) * load(x + at);
    }
  for (int v = 0; v < V; ++v) {
    mean[v] = problem.norm == Norm::layer ? mean[v] / count : Vec<T>{};
    along[v] /= count;
  }
  for (index i = 0; i < d; ++i)
    for (int v = 0; v < V; ++v) {
      const index at = i * panel_width<T> + v * lanes<T>;
      const Vec<T> across = load(gradient + at) - mean[v] - load(x + at) * along[v];
      store(gradient + at, load(inverse + v * lanes<T>) * across);
    }
}

// Pre-activations of `count` rows from row `first` on, as [row][4][panel]. The activations come in a
// second loop: run straight from the registers of the product, their long dependency chains would
// leave the multipliers idle between two rows.
template <class T, int V>
SLISDE_INLINE void preactivate(const Problem<T>& problem, const T* packed, const T* bias, const T* x,
                               index first, index count, T* p, Prefetcher<T>& ahead) {
  const index d = problem.shape.latent;
  for (index i = first; i < first + count; ++i, p += 4 * panel_width<T>) {
    ahead.next();
    Vec<T> sum[4][V];
    for (int r = 0; r < 4; ++r)
      for (int v = 0; v < V; ++v) sum[r][v] = broadcast(bias[r * d + i]);
    accumulate<T, 4, V>(sum, packed + i * d * 4, x, d);
    for (int r = 0; r < 4; ++r)
      for (int v = 0; v < V; ++v) store(p + r * panel_width<T> + v * lanes<T>, sum[r][v]);
  }
}

// Rows whose pre-activations are held at a time.
constexpr index gate_rows = 16;

template <class T, int V>
static void gate(const Problem<T>& problem, const T* packed, const T* bias, const T* x,
                 T* preactivations, T* scale, T* offset, Prefetcher<T>& ahead) {
  const index d = problem.shape.latent;
  for (index first = 0; first < d; first += gate_rows) {
    const index count = smaller(gate_rows, d - first);
    preactivate<T, V>(problem, packed, bias, x, first, count, preactivations, ahead);
    for (index i = 0; i < count; ++i)
      for (int v = 0; v < V; ++v) {
        const T* p = preactivations + 4 * i * panel_width<T> + v * lanes<T>;
        const index at = (first + i) * panel_width<T> + v * lanes<T>;
        Vec<T> s0, t1;
        sigmoid_and_tanh<T>(load(p), load(p + panel_width<T>), s0, t1);
        store(scale + at, T(1) + problem.amplitude * (s0 * t1));
        store(offset + at, sigmoid<T>(load(p + 2 * panel_width<T>)) * load(p + 3 * panel_width<T>));
      }
  }
}

// The scale again, and the derivatives of scale (rows 0, 1) and offset (rows 2, 3) with respect to
// the pre-activations, in `slopes` [d][4].
template <class T, int V>
static void gate_slopes(const Problem<T>& problem, const T* packed, const T* bias, const T* x,
                        T* scale, T* slopes, Prefetcher<T>& ahead) {
  const index d = problem.shape.latent;
  const T amplitude = problem.amplitude;
  for (index first = 0; first < d; first += gate_rows) {
    const index count = smaller(gate_rows, d - first);
    preactivate<T, V>(problem, packed, bias, x, first, count, slopes + 4 * first * panel_width<T>,
                      ahead);
    for (index i = first; i < first + count; ++i)
      for (int v = 0; v < V; ++v) {
        T* p = slopes + 4 * i * panel_width<T> + v * lanes<T>;
        Vec<T> s0, t1;
        sigmoid_and_tanh<T>(load(p), load(p + panel_width<T>), s0, t1);
        const Vec<T> s2 = sigmoid<T>(load(p + 2 * panel_width<T>));
        const Vec<T> p3 = load(p + 3 * panel_width<T>);
        store(scale + i * panel_width<T> + v * lanes<T>, T(1) + amplitude * (s0 * t1));
        store(p, amplitude * t1 * (s0 * (T(1) - s0)));
        store(p + panel_width<T>, amplitude * s0 * (T(1) - t1 * t1));
        store(p + 2 * panel_width<T>, p3 * (s2 * (T(1) - s2)));
        store(p + 3 * panel_width<T>, s2);
      }
  }
}

// slopes := gradient of the pre-activations; its sums over lanes so far are in `bias_sums` [d][4].
template <class T, int V>
static void gate_chain(const Problem<T>& problem, const T* scale_gradient, const T* offset_gradient,
                       T* slopes, T* bias_sums) {
  for (index i = 0; i < problem.shape.latent; ++i) {
    for (int r = 0; r < 4; ++r) {
      const T* gradient = (r < 2 ? scale_gradient : offset_gradient) + i * panel_width<T>;
      T* row = slopes + (4 * i + r) * panel_width<T>;
      T* total = bias_sums + (4 * i + r) * lanes<T>;
      Vec<T> sum = load(total);
      for (int v = 0; v < V; ++v) {
        const Vec<T> g = load(row + v * lanes<T>) * load(gradient + v * lanes<T>);
        store(row + v * lanes<T>, g);
        sum += g;
      }
      store(total, sum);
    }
  }
}

// gradient = gate_kernel^T (gradient of the pre-activations), rows padded to groups of four.
template <class T, int V>
static void gate_input_gradient(const Problem<T>& problem, const T* packed, const T* slopes,
                                T* gradient) {
  const Shape& s = problem.shape;
  const T* a = packed + packed_gate_half(s);
  for (index group = 0; group < groups_of(s.latent); ++group, a += 16 * s.latent) {
    Vec<T> sum[rows_per_group][V] = {};
    accumulate<T, rows_per_group, V>(sum, a, slopes, 4 * s.latent);
    for (int r = 0; r < rows_per_group; ++r)
      for (int v = 0; v < V; ++v)
        store(gradient + (group * rows_per_group + r) * panel_width<T> + v * lanes<T>, sum[r][v]);
  }
}

}  // namespace SLISDE_ISA
}  // namespace slisde
