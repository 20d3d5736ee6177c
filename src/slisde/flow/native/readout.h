// The linear readout y[k] = R Z[k], fused into the recurrence so that its cotangent never has to be
// spread over the whole path array.
#pragma once

#include "microkernel.h"
#include "panel.h"

namespace slisde {
namespace SLISDE_ISA {

// observed [p][panel] = readout [p, d] times state [d][panel].
template <class T, int V>
static void observe(const Problem<T>& problem, const T* state, T* observed) {
  const index d = problem.shape.latent;
  for (index o = 0; o < problem.shape.outputs; ++o) {
    const T* row = problem.readout + o * d;
    Vec<T> even[V] = {}, odd[V] = {};
    for (index i = 0; i < d; ++i) {
      // Two chains, because one would wait for each multiply-add in turn.
      Vec<T>(&sum)[V] = i % 2 == 0 ? even : odd;
      for (int v = 0; v < V; ++v)
        sum[v] += broadcast(row[i]) * load(state + i * panel_width<T> + v * lanes<T>);
    }
    for (int v = 0; v < V; ++v) store(observed + o * panel_width<T> + v * lanes<T>, even[v] + odd[v]);
  }
}

// costate += readout^T cotangent, and sums [p, d, lanes] += cotangent * state.
template <class T, int V>
static void observe_adjoint(const Problem<T>& problem, const T* cotangent, const T* state, T* costate,
                            T* sums) {
  const index d = problem.shape.latent;
  for (index o = 0; o < problem.shape.outputs; ++o) {
    Vec<T> y[V];
    for (int v = 0; v < V; ++v) y[v] = load(cotangent + o * panel_width<T> + v * lanes<T>);
    for (index i = 0; i < d; ++i) {
      const Vec<T> weight = broadcast(problem.readout[o * d + i]);
      Vec<T> sum = load(sums + (o * d + i) * lanes<T>);
      for (int v = 0; v < V; ++v) {
        const index at = i * panel_width<T> + v * lanes<T>;
        store(costate + at, load(costate + at) + weight * y[v]);
        sum += y[v] * load(state + at);
      }
      store(sums + (o * d + i) * lanes<T>, sum);
    }
  }
}

}  // namespace SLISDE_ISA
}  // namespace slisde
