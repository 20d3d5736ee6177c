// Cuts a call into tiles, groups and spans of time, and runs them on the pool.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "pool.h"
#include "problem.h"
#include "scratch.h"

namespace slisde {

// How the paths are cut. Deterministic for a given number of threads.
struct Cut {
  std::vector<Panel> panels;
  std::vector<Tile> tiles;
  index widest = 0;  // panels of the widest tile
};

// Tiles of about `tile_panels` panels, as many as fill all threads evenly.
inline Cut cut_paths(index paths, index lanes, index threads, index tile_panels) {
  const auto round_up = [](index n, index multiple) { return (n + multiple - 1) / multiple * multiple; };
  Cut cut;
  const index vectors = std::max<index>(1, round_up(paths, lanes) / lanes);
  const index workers = std::min(threads, vectors);
  const index panels = std::min(vectors, round_up((vectors + 2) / 3, workers));
  for (index p = 0; p < panels; ++p) {
    const index first = p * vectors / panels, last = (p + 1) * vectors / panels;
    cut.panels.push_back({first * lanes, std::min(last * lanes, paths) - first * lanes, last - first});
  }
  const index tiles = std::min(panels, round_up((panels + tile_panels - 1) / tile_panels, workers));
  for (index t = 0; t < tiles; ++t) {
    const index first = t * panels / tiles, last = (t + 1) * panels / tiles;
    cut.tiles.push_back({cut.panels.data() + first, last - first});
    cut.widest = std::max(cut.widest, last - first);
  }
  return cut;
}

template <class T>
class Driver {
 public:
  Driver(const Kernels<T>& kernels, const Problem<T>& problem, Pool& pool)
      : kernels_(kernels), problem_(problem), pool_(pool) {}

  void forward() {
    const Cut cut = cut_paths(problem_.shape.paths, kernels_.lanes, pool_.threads(), forward_panels);
    Scratch memory(packed_bytes());
    const Packed<T> packed = pack(memory.as<T>(), false);
    const index elements = kernels_.scratch_elements(problem_, cut.widest);
    pool_.run(index(cut.tiles.size()), [&](index t) {
      Scratch scratch(elements * sizeof(T));
      std::memset(scratch.as<T>(), 0, elements * sizeof(T));
      kernels_.forward(problem_, cut.tiles[t], packed, scratch.as<T>());
    });
  }

  // Gradients that are sums over paths: one full array each.
  struct Totals {
    T* matrices;
    T* vectors;
    T* gate_kernel;
    T* gate_bias;
    T* readout;
    T* features;
  };

  // Every group of tiles adds into its own arrays, and these are added up in the order of the
  // groups, so that the result does not depend on which thread ran what. Time is cut into segments
  // short enough for those arrays to stay in the shared cache.
  void backward(const Adjoint<T>& adjoint, const Totals& totals) {
    const Shape& s = problem_.shape;
    const Cut cut = cut_paths(s.paths, kernels_.lanes, pool_.threads(), backward_panels);
    const index tiles = cut.tiles.size();
    const index groups = std::min(tiles, groups_per_thread * pool_.threads());
    Scratch memory(packed_bytes());
    const Packed<T> packed = pack(memory.as<T>(), true);

    const index stepwise = (s.coefficients_vary ? s.matrices_step() + s.vectors_step() : 0) +
                           (s.bias_varies ? s.gate_step() : 0);
    const index affordable = index(segment_bytes) / (index(sizeof(T)) * groups * std::max<index>(1, stepwise));
    const index length = std::clamp<index>(affordable, std::min<index>(8, s.steps), s.steps);
    Layout layout(s, problem_.gated() ? kernels_.gate_kernel_elements(s) : 0, kernels_.lanes, length);
    Scratch sums(groups * layout.total * sizeof(T));
    std::memset(sums.as<T>(), 0, groups * layout.total * sizeof(T));

    if (s.basis > 0) clear_combined(totals);
    const index elements = kernels_.scratch_elements(problem_, cut.widest);
    for (index end = s.steps; end > 0;) {
      const Span span{std::max<index>(0, end - length), end};
      pool_.run(groups, [&](index g) {
        const index first = g * tiles / groups, last = (g + 1) * tiles / groups;
        Scratch scratch(elements * sizeof(T));
        std::memset(scratch.as<T>(), 0, elements * sizeof(T));
        kernels_.backward(problem_, adjoint, layout.at(sums.as<T>(), g), cut.tiles.data() + first,
                          last - first, span, packed, scratch.as<T>());
      });
      if (stepwise > 0) add_stepwise(layout, sums.as<T>(), groups, span, totals);
      if (s.basis > 0) add_combined(layout, sums.as<T>(), groups, span, totals);
      end = span.begin;
    }
    add_whole(layout, sums.as<T>(), groups, totals);
  }

 private:
  static constexpr index forward_panels = 11;
  static constexpr index backward_panels = 11;
  static constexpr index groups_per_thread = 2;
  static constexpr std::size_t segment_bytes = std::size_t{8} << 20;
  // Entries of the coefficients whose gradients are carried over to a basis together: the steps of a
  // segment of so many entries stay in a core's cache.
  static constexpr index entries_per_part = 384;

  // Where the arrays of one group lie.
  struct Layout {
    index matrices, vectors, gate_bias, gate_kernel, readout, total;
    Layout(const Shape& s, index gate_elements, index lanes, index length) {
      const index coefficient_steps = s.coefficients_vary ? length : 1;
      index used = 0;
      const auto take = [&](index n) {
        const index here = used;
        used += (n + 15) / 16 * 16;
        return here;
      };
      matrices = take(coefficient_steps * s.matrices_step());
      vectors = take(coefficient_steps * s.vectors_step());
      gate_bias = take(gate_elements > 0 ? (s.bias_varies ? length : 1) * s.gate_step() : 0);
      gate_kernel = take(gate_elements);
      readout = take(s.outputs * s.latent * lanes);
      total = used;
    }
    Sums<T> at(T* memory, index group) const {
      T* base = memory + group * total;
      return {base + matrices, base + vectors, base + gate_bias, base + gate_kernel, base + readout};
    }
  };

  index packed_gate_elements() const {
    return problem_.gated() ? kernels_.packed_gate_elements(problem_.shape) : 0;
  }
  std::size_t packed_bytes() const {
    return (packed_gate_elements() + kernels_.packed_basis_elements(problem_.shape)) * sizeof(T);
  }
  Packed<T> pack(T* memory, bool transposed) const {
    const Packed<T> packed{memory, memory + packed_gate_elements()};
    if (problem_.gated()) kernels_.pack_gate(problem_, memory);
    kernels_.pack_basis(problem_, transposed, memory + packed_gate_elements());
    return packed;
  }

  // out = sum of the groups' arrays, which are cleared for the next segment.
  static void add_up(T* first, index stride, index groups, index count, T* out) {
    std::memcpy(out, first, count * sizeof(T));
    std::memset(first, 0, count * sizeof(T));
    for (index g = 1; g < groups; ++g) {
      T* part = first + g * stride;
      for (index e = 0; e < count; ++e) out[e] += part[e];
      std::memset(part, 0, count * sizeof(T));
    }
  }

  void add_stepwise(const Layout& layout, T* sums, index groups, Span span, const Totals& totals) {
    const Shape& s = problem_.shape;
    pool_.run(span.end - span.begin, [&](index slot) {
      const index k = span.begin + slot;
      const auto one = [&](index at, index size, T* out) {
        add_up(sums + at + slot * size, layout.total, groups, size, out + k * size);
      };
      if (s.coefficients_vary && s.basis == 0) {
        one(layout.matrices, s.matrices_step(), totals.matrices);
        one(layout.vectors, s.vectors_step(), totals.vectors);
      }
      if (problem_.gated() && s.bias_varies) one(layout.gate_bias, s.gate_step(), totals.gate_bias);
    });
  }

  void clear_combined(const Totals& totals) const {
    const Shape& s = problem_.shape;
    std::memset(totals.matrices, 0, s.basis * s.matrices_step() * sizeof(T));
    std::memset(totals.vectors, 0, s.basis * s.vectors_step() * sizeof(T));
  }

  // Gradients of the steps' coefficients become gradients of the members that they were combined
  // from, and of the features. A part of the entries has its own sums for the features, added up in
  // the order of the parts.
  void add_combined(const Layout& layout, T* sums, index groups, Span span, const Totals& totals) {
    const Shape& s = problem_.shape;
    const index steps = span.end - span.begin, size = steps * s.basis;
    const auto parts_of = [](index n) { return (n + entries_per_part - 1) / entries_per_part; };
    const index matrix_parts = parts_of(s.matrices_step());
    const index parts = matrix_parts + parts_of(s.vectors_step());
    const T* features = problem_.features + span.begin * s.basis;
    Scratch memory(parts * size * sizeof(T));
    T* partial = memory.as<T>();
    std::memset(partial, 0, parts * size * sizeof(T));
    pool_.run(parts, [&](index part) {
      const bool matrix = part < matrix_parts;
      const index entries = matrix ? s.matrices_step() : s.vectors_step();
      const index first = (matrix ? part : part - matrix_parts) * entries_per_part;
      const BasisGradient<T> gradient{sums + (matrix ? layout.matrices : layout.vectors),
                                      layout.total, groups, steps, entries, s.basis, features,
                                      matrix ? problem_.matrices : problem_.vectors,
                                      matrix ? totals.matrices : totals.vectors,
                                      partial + part * size};
      kernels_.add_basis_gradient(gradient, first, std::min(entries, first + entries_per_part));
    });
    add_up(partial, size, parts, size, totals.features + span.begin * s.basis);
  }

  void add_whole(const Layout& layout, T* sums, index groups, const Totals& totals) {
    const Shape& s = problem_.shape;
    if (!s.coefficients_vary) {
      add_up(sums + layout.matrices, layout.total, groups, s.matrices_step(), totals.matrices);
      add_up(sums + layout.vectors, layout.total, groups, s.vectors_step(), totals.vectors);
    }
    if (problem_.gated()) {
      if (!s.bias_varies)
        add_up(sums + layout.gate_bias, layout.total, groups, s.gate_step(), totals.gate_bias);
      std::vector<const T*> parts;
      for (index g = 0; g < groups; ++g) parts.push_back(sums + g * layout.total + layout.gate_kernel);
      kernels_.unpack_gate_kernel(s, parts.data(), groups, totals.gate_kernel);
    }
    const index lanes = kernels_.lanes;
    for (index e = 0; e < s.outputs * s.latent; ++e) {
      T sum = 0;
      for (index g = 0; g < groups; ++g)
        for (index l = 0; l < lanes; ++l) sum += sums[g * layout.total + layout.readout + e * lanes + l];
      totals.readout[e] = sum;
    }
  }

  const Kernels<T>& kernels_;
  const Problem<T>& problem_;
  Pool& pool_;
};

}  // namespace slisde
