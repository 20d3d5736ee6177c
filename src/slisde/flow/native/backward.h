// A tile of paths backwards through a span of steps: the adjoint recurrence
// costate[k] = cotangent[k] + F[k]^T costate[k+1], with everything else recomputed from the paths.
#pragma once

#include "gate_weights.h"
#include "gradient.h"
#include "readout.h"
#include "recurrence.h"
#include "workspace.h"

namespace slisde {
namespace SLISDE_ISA {

template <class T>
struct BackwardSpace {
  T* coefficients;
  T *costate, *next, *state, *scaled, *diagonal, *weights, *noise, *observed;
  T *previous, *previous_gradient, *slopes, *inverse, *bias, *staging;
  index used;

  BackwardSpace(const Problem<T>& problem, index panels, Arena<T> arena) {
    const Shape& s = problem.shape;
    coefficients = arena.take(StepCoefficients<T>::elements(s));
    const index rows = padded_rows(s.latent), gated = problem.gated() ? panels : 0;
    costate = arena.panels(panels, rows);
    next = arena.panels(panels, rows);
    state = arena.panels(panels, rows);
    scaled = arena.panels(problem.scaled() ? panels : 0, rows);
    diagonal = arena.panels(problem.scaled() || s.block == 1 ? panels : 0, rows);
    weights = arena.panels(panels, 1 + s.noise);
    noise = arena.panels(panels, s.noise);
    observed = arena.panels(panels, s.outputs);
    previous = arena.panels(gated, rows);
    previous_gradient = arena.panels(gated, rows);
    slopes = arena.panels(gated > 0 ? 1 : 0, padded_rows(4 * s.latent));
    inverse = arena.panels(1, 1);
    bias = arena.take(gated > 0 ? 4 * s.latent * lanes<T> : 0);
    staging = arena.take(gated > 0 ? GateWeights<T>::staging_elements(s) : 0);
    used = arena.used();
  }
};

template <class T>
class Backward {
 public:
  Backward(const Problem<T>& problem, const Adjoint<T>& adjoint, const Sums<T>& sums,
           const View& view, const Packed<T>& packed, GateWeights<T>& weights, BackwardSpace<T>& space)
      : problem_(problem), adjoint_(adjoint), sums_(sums), view_(view), packed_(packed),
        gate_weights_(weights), space_(space),
        coefficients_(problem, packed.basis, true, adjoint.noise != nullptr, space.coefficients),
        now_(problem.shape, space.coefficients), ahead_(view), s_(problem.shape), rows_(padded_rows(s_.latent)),
        slab_(s_.latent * s_.paths) {}

  void run(Span steps) {
    if (steps.end == s_.steps) {
      fill_zero(space_.costate, view_.count() * rows_ * panel_width<T>);
      gather(view_, problem_.path + s_.steps * slab_, s_.latent, space_.state, rows_);
      if (adjoint_.end != nullptr) gather(view_, adjoint_.end, s_.latent, space_.costate, rows_);
      add_cotangents(s_.steps);
      if (problem_.gated()) {
        // The gate of step k looks at node k, so nothing looks at the last node.
        fill_zero(space_.previous_gradient, view_.count() * rows_ * panel_width<T>);
        scatter(view_, space_.previous_gradient, s_.latent, adjoint_.previous + s_.steps * slab_,
                rows_);
      }
    } else {
      gather(view_, adjoint_.initial, s_.latent, space_.costate, rows_);
    }
    for (index k = steps.end - 1; k >= steps.begin; --k) step(k, k - steps.begin);
    scatter(view_, space_.costate, s_.latent, adjoint_.initial, rows_);
  }

 private:
  static void fill_zero(T* p, index n) { __builtin_memset(p, 0, n * sizeof(T)); }

  void step(index k, index slot) {
    read_step(k);
    if (problem_.gated()) fill_zero(space_.bias, 4 * s_.latent * lanes<T>);
    prefetch_after(k);
    for (index p = 0; p < view_.count(); ++p)
      with_vectors(view_.vectors(p), [&](auto v) { panel<decltype(v)::value>(p, k); });
    write_step(k);
    add_sums(slot);
    T* done = space_.costate;
    space_.costate = space_.next;
    space_.next = done;
    add_cotangents(k);
  }

  void read_step(index k) {
    now_ = coefficients_.at(k);
    for (index p = 0; p < view_.count(); ++p)
      for (int v = 0; v < widest; ++v)
        store(space_.weights + p * (1 + s_.noise) * panel_width<T> + v * lanes<T>,
              broadcast(problem_.dt[k]));
    gather(view_, problem_.noise + k * s_.noise * s_.paths, s_.noise, space_.weights, 1 + s_.noise, 1);
    gather(view_, problem_.path + k * slab_, s_.latent, space_.state, rows_);
    if (problem_.gated())
      gather(view_, problem_.previous + k * slab_, s_.latent, space_.previous, rows_);
    else if (problem_.scaled())
      gather(view_, problem_.scale + k * slab_, s_.latent, space_.scaled, rows_);
  }

  // What the end of this step and the start of the next one will gather.
  void prefetch_after(index k) {
    ahead_.start();
    if (adjoint_.path != nullptr) ahead_.add(adjoint_.path + k * slab_, s_.latent);
    if (k > 0) {
      ahead_.add(problem_.path + (k - 1) * slab_, s_.latent);
      ahead_.add(problem_.noise + (k - 1) * s_.noise * s_.paths, s_.noise);
      if (problem_.gated()) ahead_.add(problem_.previous + (k - 1) * slab_, s_.latent);
    }
    ahead_.spread(view_.count() * s_.latent * (problem_.gated() ? 2 : 1));
  }

  template <int V>
  void panel(index p, index k) {
    const index at = p * rows_ * panel_width<T>;
    const index width = view_.width(p);
    const bool ragged = SLISDE_ISA::ragged<T>(view_, p);
    const T* weights = space_.weights + p * (1 + s_.noise) * panel_width<T>;
    const T* state = space_.state + at;
    const T* costate = space_.costate + at;
    T* scaled = problem_.scaled() ? space_.scaled + at : nullptr;
    T* diagonal = problem_.scaled() ? space_.diagonal + at : nullptr;
    T* next = space_.next + at;
    if (problem_.gated()) {
      T* x = space_.previous + at;
      normalise<T, V>(problem_, x, space_.inverse);
      if (ragged) clear_missing(x, s_.latent, width);
      const T* bias = problem_.gate_bias + (s_.bias_varies ? k : 0) * s_.gate_step();
      gate_slopes<T, V>(problem_, packed_.gate, bias, x, scaled, space_.slopes, ahead_);
    }
    fill_zero(next, s_.latent * panel_width<T>);
    apply_matrices<T, V>(s_, now_, {weights, costate, scaled, diagonal, next}, ahead_);
    if (ragged) clear_missing(next, s_.latent, width);
    if (problem_.scaled()) scale_products<V>(costate, state, scaled, diagonal);
    if (problem_.scaled() && ragged) {
      clear_missing(scaled, s_.latent, width);
      clear_missing(diagonal, s_.latent, width);
    }
    if (problem_.gated()) gate_panel<V>(at, ragged, width, costate, diagonal);
    if (adjoint_.noise != nullptr)
      noise_gradient<T, V>(s_, now_, costate, state,
                           problem_.scaled() ? scaled : state,
                           space_.noise + p * s_.noise * panel_width<T>);
  }

  // diagonal := gradient of the scale; scaled := scale * state, which stands for the state in the
  // gradient of a diagonal entry.
  template <int V>
  void scale_products(const T* costate, const T* state, T* scaled, T* diagonal) {
    for (index i = 0; i < s_.latent; ++i)
      for (int v = 0; v < V; ++v) {
        const index c = i * panel_width<T> + v * lanes<T>;
        const Vec<T> z = load(state + c);
        store(diagonal + c, load(diagonal + c) * (load(costate + c) * z));
        store(scaled + c, load(scaled + c) * z);
      }
  }

  template <int V>
  void gate_panel(index at, bool ragged, index width, const T* costate, const T* scale_gradient) {
    T* gradient = space_.previous_gradient + at;
    if (ragged) clear_missing(space_.slopes, 4 * s_.latent, width);
    gate_chain<T, V>(problem_, scale_gradient, costate, space_.slopes, space_.bias);
    gate_weights_.template add<V>(space_.previous + at, space_.slopes);
    gate_input_gradient<T, V>(problem_, packed_.gate, space_.slopes, gradient);
    normalise_adjoint<T, V>(problem_, space_.previous + at, space_.inverse, gradient);
  }

  void write_step(index k) {
    if (adjoint_.offset != nullptr)
      scatter(view_, space_.costate, s_.latent, adjoint_.offset + k * slab_, rows_);
    if (adjoint_.scale != nullptr)
      scatter(view_, space_.diagonal, s_.latent, adjoint_.scale + k * slab_, rows_);
    if (problem_.gated())
      scatter(view_, space_.previous_gradient, s_.latent, adjoint_.previous + k * slab_, rows_,
              problem_.stream);
    if (adjoint_.noise != nullptr)
      scatter(view_, space_.noise, s_.noise, adjoint_.noise + k * s_.noise * s_.paths, s_.noise);
  }

  // Comes after write_step: the products of a diagonal family take the place of the scale's gradient.
  void add_sums(index slot) {
    const index at = s_.coefficients_vary ? slot : 0;
    T* matrices = sums_.matrices + at * s_.matrices_step();
    const T* scaled = problem_.scaled() ? space_.scaled : space_.state;
    if (s_.block == 1) {
      for (index c = 0; c < view_.count() * rows_ * panel_width<T>; c += lanes<T>)
        store(space_.diagonal + c, load(space_.costate + c) * load(scaled + c));
      add_vector_gradient(view_, s_, space_.weights, 1 + s_.matrix_noise, space_.diagonal, rows_,
                          matrices);
    } else {
      add_matrix_gradient<T>(view_, s_, {space_.weights, space_.costate, space_.state, scaled, rows_},
                             matrices);
    }
    add_vector_gradient(view_, s_, space_.weights, 1 + s_.vector_noise, space_.costate, rows_,
                        sums_.vectors + at * s_.vectors_step());
    if (problem_.gated()) add_bias(sums_.gate_bias + (s_.bias_varies ? slot : 0) * s_.gate_step());
  }

  void add_bias(T* out) {
    for (index i = 0; i < s_.latent; ++i) {
      const T* rows = space_.bias + 4 * i * lanes<T>;
      T four[4] = {};
      add_lane_sums<T>(load(rows), load(rows + lanes<T>), load(rows + 2 * lanes<T>),
                       load(rows + 3 * lanes<T>), four);
      for (index r = 0; r < 4; ++r) out[r * s_.latent + i] += four[r];
    }
  }

  // costate += what looks at this node directly.
  void add_cotangents(index node) {
    if (adjoint_.path != nullptr)
      gather<T, true>(view_, adjoint_.path + node * slab_, s_.latent, space_.costate, rows_);
    if (adjoint_.observed == nullptr) return;
    const index outputs = s_.outputs;
    gather(view_, adjoint_.observed + node * outputs * s_.paths, outputs, space_.observed, outputs);
    for (index p = 0; p < view_.count(); ++p)
      with_vectors(view_.vectors(p), [&](auto v) {
        const index at = p * rows_ * panel_width<T>;
        observe_adjoint<T, decltype(v)::value>(
            problem_, space_.observed + p * outputs * panel_width<T>, space_.state + at,
            space_.costate + at, sums_.readout);
        if (ragged<T>(view_, p)) clear_missing(space_.costate + at, s_.latent, view_.width(p));
      });
  }

  const Problem<T>& problem_;
  const Adjoint<T>& adjoint_;
  const Sums<T>& sums_;
  const View& view_;
  const Packed<T>& packed_;
  GateWeights<T>& gate_weights_;
  BackwardSpace<T>& space_;
  StepCoefficients<T> coefficients_;
  Coefficients<T> now_;
  Prefetcher<T> ahead_;
  const Shape& s_;
  const index rows_, slab_;
};

template <class T>
static void backward(const Problem<T>& problem, const Adjoint<T>& adjoint, const Sums<T>& sums,
                     const Tile* tiles, index tile_count, Span steps, const Packed<T>& packed,
                     T* scratch) {
  index widest_tile = 0;
  for (index t = 0; t < tile_count; ++t)
    widest_tile = tiles[t].count > widest_tile ? tiles[t].count : widest_tile;
  BackwardSpace<T> space(problem, widest_tile, Arena<T>(scratch));
  GateWeights<T> weights(problem.shape, sums.gate_kernel, space.staging);
  for (index t = 0; t < tile_count; ++t) {
    const View view{tiles[t], problem.shape.paths};
    Backward<T>(problem, adjoint, sums, view, packed, weights, space).run(steps);
  }
  if (problem.gated()) weights.flush();
  fence_stores();
}

}  // namespace SLISDE_ISA
}  // namespace slisde
