// Gradient of the gate kernel: sum over paths and steps of (pre-activation gradient) x^T.
//
// Paths are summed over, so lanes should hold weights, not paths: panels are transposed into a
// staging area of `depth` paths, and the product then keeps its sums in registers for the whole
// depth. It does not matter which step a staged path came from, so the area is always filled up.
#pragma once

#include "gate.h"

namespace slisde {
namespace SLISDE_ISA {

template <class T>
class GateWeights {
 public:
  // A multiple of the panel width that keeps one operand in the first-level cache.
  static constexpr index depth = 5 * panel_width<T>;

  static index accumulator_elements(const Shape& s) {
    return output_blocks(s) * groups_of(s.latent) * rows_per_group * panel_width<T>;
  }
  static index staging_elements(const Shape& s) {
    return depth * (output_blocks(s) * panel_width<T> + padded_rows(s.latent));
  }
  GateWeights(const Shape& s, T* accumulator, T* staging)
      : shape_(s), total_(accumulator), outputs_(staging),
        inputs_(staging + depth * output_blocks(s) * panel_width<T>) {}

  // Adds V vectors of paths: x [padded d][panel] and the gradients [padded 4d][panel].
  template <int V>
  void add(const T* x, const T* gradients) {
    if (filled_ + V * lanes<T> > depth) flush();
    for (int v = 0; v < V; ++v, filled_ += lanes<T>) {
      stage_outputs(gradients + v * lanes<T>);
      stage_inputs(x + v * lanes<T>);
    }
  }

  void flush() {
    T* total = total_;
    for (index block = 0; block < output_blocks(shape_); ++block)
      for (index group = 0; group < groups_of(shape_.latent); ++group) {
        Vec<T> sum[rows_per_group][widest];
        for (int r = 0; r < rows_per_group; ++r)
          for (int v = 0; v < widest; ++v)
            sum[r][v] = load(total + r * panel_width<T> + v * lanes<T>);
        accumulate<T, rows_per_group, widest>(sum, inputs_ + group * depth * rows_per_group,
                                              outputs_ + block * depth * panel_width<T>, filled_);
        for (int r = 0; r < rows_per_group; ++r)
          for (int v = 0; v < widest; ++v)
            store(total + r * panel_width<T> + v * lanes<T>, sum[r][v]);
        total += rows_per_group * panel_width<T>;
      }
    filled_ = 0;
  }

  // gate_kernel_bar[r][i][x] = sum of the parts, in their order.
  static void unpack(const Shape& s, const T* const* parts, index count, T* out) {
    const index d = s.latent;
    for (index g = 0; g < 4 * d; ++g)
      for (index x = 0; x < d; ++x) {
        const index at = ((g / panel_width<T> * groups_of(d) + x / rows_per_group) * rows_per_group +
                          x % rows_per_group) * panel_width<T> + g % panel_width<T>;
        T sum = 0;
        for (index part = 0; part < count; ++part) sum += parts[part][at];
        out[(g % 4 * d + g / 4) * d + x] = sum;
      }
  }

 private:
  static index output_blocks(const Shape& s) {
    return (4 * s.latent + panel_width<T> - 1) / panel_width<T>;
  }

  void stage_outputs(const T* gradients) {
    const index vectors = (4 * shape_.latent + lanes<T> - 1) / lanes<T>;
    for (index q = 0; q < vectors; ++q) {
      Vec<T> rows[lanes<T>];
      for (int l = 0; l < lanes<T>; ++l) rows[l] = load(gradients + (q * lanes<T> + l) * panel_width<T>);
      transpose<T>(rows);
      T* to = outputs_ + (q / widest * depth + filled_) * panel_width<T> + q % widest * lanes<T>;
      for (int l = 0; l < lanes<T>; ++l) store(to + l * panel_width<T>, rows[l]);
    }
  }

  void stage_inputs(const T* x) {
    constexpr int piece = lanes<T> < rows_per_group ? lanes<T> : rows_per_group;
    for (index q = 0; q * lanes<T> < shape_.latent; ++q) {
      Vec<T> rows[lanes<T>];
      for (int l = 0; l < lanes<T>; ++l) rows[l] = load(x + (q * lanes<T> + l) * panel_width<T>);
      transpose<T>(rows);
      for (int l = 0; l < lanes<T>; ++l) {
        T row[lanes<T>];
        __builtin_memcpy(row, &rows[l], sizeof row);
        for (int c = 0; c < lanes<T>; c += piece) {
          const index column = q * lanes<T> + c;
          __builtin_memcpy(inputs_ + (column / rows_per_group * depth + filled_ + l) * rows_per_group +
                               column % rows_per_group,
                           row + c, piece * sizeof(T));
        }
      }
    }
  }

  Shape shape_;
  T* total_;
  T* outputs_;  // [block of weights][path][panel]
  T* inputs_;   // [group of inputs][path][4]
  index filled_ = 0;
};

}  // namespace SLISDE_ISA
}  // namespace slisde
