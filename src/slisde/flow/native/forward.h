// A tile of paths through all steps, forward.
#pragma once

#include "gate.h"
#include "readout.h"
#include "recurrence.h"
#include "workspace.h"

namespace slisde {
namespace SLISDE_ISA {

template <class T>
struct ForwardSpace {
  T* coefficients;
  T *state, *next, *weights, *previous, *scale, *offset, *observed, *inverse, *preactivations;

  ForwardSpace(const Problem<T>& problem, index panels, Arena<T> arena) {
    const Shape& s = problem.shape;
    coefficients = arena.take(StepCoefficients<T>::elements(s));
    const index rows = padded_rows(s.latent);
    state = arena.panels(panels, rows);
    next = arena.panels(panels, rows);
    weights = arena.panels(panels, 1 + s.noise);
    // With a gate, scale and offset live for one panel only and stay in the nearest cache.
    const index kept = problem.gated() ? 1 : problem.scaled() ? panels : 0;
    previous = arena.panels(problem.gated() ? panels : 0, rows);
    scale = arena.panels(kept, rows);
    offset = arena.panels(kept, rows);
    observed = arena.panels(panels, s.outputs);
    inverse = arena.panels(1, 1);
    preactivations = arena.panels(problem.gated() ? 4 : 0, gate_rows);
    used = arena.used();
  }
  index used;
};

template <class T, int V>
static void forward_panel(const Problem<T>& problem, const ForwardSpace<T>& space,
                          const Coefficients<T>& coefficients, index p, index k,
                          const Packed<T>& packed, Prefetcher<T>& ahead) {
  const Shape& s = problem.shape;
  const index panel = padded_rows(s.latent) * panel_width<T>;
  const T* weights = space.weights + p * (1 + s.noise) * panel_width<T>;
  T* output = space.next + p * panel;
  const T* scale = nullptr;
  const T* offset = nullptr;
  if (problem.gated()) {
    T* x = space.previous + p * panel;
    normalise<T, V>(problem, x, space.inverse);
    const T* bias = problem.gate_bias + (s.bias_varies ? k : 0) * s.gate_step();
    gate<T, V>(problem, packed.gate, bias, x, space.preactivations, space.scale, space.offset, ahead);
    scale = space.scale;
    offset = space.offset;
  } else if (problem.scaled()) {
    scale = space.scale + p * panel;
    offset = space.offset + p * panel;
  }
  shift<T, V>(s, coefficients, weights, offset, output);
  apply_matrices<T, V>(s, coefficients,
                       {weights, space.state + p * panel, scale, nullptr, output}, ahead);
}

template <class T>
static void write_node(const Problem<T>& problem, const View& view, const ForwardSpace<T>& space,
                       const T* state, index node) {
  const Shape& s = problem.shape;
  const index rows = padded_rows(s.latent);
  scatter(view, state, s.latent, problem.path + node * s.latent * s.paths, rows, problem.stream);
  if (s.outputs == 0) return;
  for (index p = 0; p < view.count(); ++p)
    with_vectors(view.vectors(p), [&](auto v) {
      observe<T, decltype(v)::value>(problem, state + p * rows * panel_width<T>,
                                     space.observed + p * s.outputs * panel_width<T>);
    });
  scatter(view, space.observed, s.outputs, problem.observed + node * s.outputs * s.paths, s.outputs);
}

template <class T>
static void forward(const Problem<T>& problem, Tile tile, const Packed<T>& packed, T* scratch) {
  const Shape& s = problem.shape;
  const View view{tile, s.paths};
  const index rows = padded_rows(s.latent), slab = s.latent * s.paths;
  ForwardSpace<T> space(problem, tile.count, Arena<T>(scratch));
  StepCoefficients<T> coefficients(problem, packed.basis, false, false, space.coefficients);
  Prefetcher<T> ahead(view);
  gather(view, problem.initial, s.latent, space.state, rows);
  write_node(problem, view, space, space.state, 0);
  for (index k = 0; k < s.steps; ++k) {
    const Coefficients<T> now = coefficients.at(k);
    gather(view, problem.noise + k * s.noise * s.paths, s.noise, space.weights, 1 + s.noise, 1);
    if (problem.gated()) {
      gather(view, problem.previous + k * slab, s.latent, space.previous, rows);
    } else if (problem.scaled()) {
      gather(view, problem.scale + k * slab, s.latent, space.scale, rows);
      gather(view, problem.offset + k * slab, s.latent, space.offset, rows);
    }
    ahead.start();
    if (k + 1 < s.steps) {
      ahead.add(problem.noise + (k + 1) * s.noise * s.paths, s.noise);
      if (problem.gated()) ahead.add(problem.previous + (k + 1) * slab, s.latent);
    }
    ahead.spread(tile.count * s.latent * (problem.gated() ? 2 : 1));
    for (index p = 0; p < tile.count; ++p)
      with_vectors(view.vectors(p), [&](auto v) {
        forward_panel<T, decltype(v)::value>(problem, space, now, p, k, packed, ahead);
      });
    T* done = space.state;
    space.state = space.next;
    space.next = done;
    write_node(problem, view, space, space.state, k + 1);
  }
  scatter(view, space.state, s.latent, problem.end, rows);
  fence_stores();
}

}  // namespace SLISDE_ISA
}  // namespace slisde
