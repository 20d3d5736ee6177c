// One step's coefficients in the order in which the inner loops read them.
#pragma once

#include "simd.h"

namespace slisde {
namespace SLISDE_ISA {

SLISDE_INLINE index groups_of(index rows) { return (rows + rows_per_group - 1) / rows_per_group; }

// A matrix entry is formed four at a time. In a block they are four neighbours of one row of the
// matrix that is applied (a row of F forward, a column backward); a diagonal family takes the
// entries of four successive rows instead, since its rows have only one.
SLISDE_INLINE index matrix_groups(const Shape& s) {
  return s.block == 1 ? groups_of(s.latent) : s.latent * groups_of(s.block);
}

template <class T>
struct Coefficients {
  T* base;        // [matrix group][4]: I + A dt
  T* entries;     // [matrix group][mC][4]: C
  T* shift_base;  // [vector group][4]: b dt
  T* shifts;      // [vector group][mD][4]: d
  T* by_noise;    // [noise group][matrix entries + vector entries][4], for the noise gradient

  static index matrix_elements(const Shape& s) {
    return rows_per_group * matrix_groups(s) * (1 + s.matrix_noise);
  }
  static index vector_elements(const Shape& s) {
    return rows_per_group * groups_of(s.latent) * (1 + s.vector_noise);
  }
  static index noise_elements(const Shape& s) {
    return rows_per_group * groups_of(s.noise) * (s.matrix_entries() + s.latent);
  }
  // Whole vectors of any instruction set, so that a loop over either part may end with one.
  static index step_elements(const Shape& s) {
    return round_up(matrix_elements(s) + vector_elements(s), 16);
  }
  static index elements(const Shape& s) { return step_elements(s) + round_up(noise_elements(s), 16); }
  Coefficients(const Shape& s, T* memory) {
    base = memory;
    entries = base + rows_per_group * matrix_groups(s);
    shift_base = entries + rows_per_group * matrix_groups(s) * s.matrix_noise;
    shifts = shift_base + rows_per_group * groups_of(s.latent);
    by_noise = memory + step_elements(s);
  }
};

// [channel][rows] -> [group][channel][4], padded with zeros.
template <class T>
static void pack_rows(const T* source, index channels, index rows, T* packed) {
  for (index g = 0; g < groups_of(rows); ++g)
    for (index j = 0; j < channels; ++j, packed += rows_per_group) {
      const T* from = source + j * rows + g * rows_per_group;
      const index valid = smaller(rows_per_group, rows - g * rows_per_group);
      if (valid == rows_per_group) {
        __builtin_memcpy(packed, from, rows_per_group * sizeof(T));
      } else {
        for (index r = 0; r < rows_per_group; ++r) packed[r] = r < valid ? from[r] : T(0);
      }
    }
}

// [channel][block][i][l] -> [row][group][channel][4]: the row is i (columns l grouped), or, for the
// transposed matrix, l (rows i grouped).
template <class T>
static void pack_blocks(const T* source, const Shape& s, index channels, bool transposed, T* packed) {
  const index side = s.block, channel_stride = s.matrix_entries();
  const index row_stride = transposed ? 1 : side, step = transposed ? side : 1;
  for (index n = 0; n < s.blocks(); ++n)
    for (index row = 0; row < side; ++row)
      for (index g = 0; g < side; g += rows_per_group) {
        const T* from = source + n * side * side + row * row_stride + g * step;
        const index valid = smaller(rows_per_group, side - g);
        for (index j = 0; j < channels; ++j, packed += rows_per_group, from += channel_stride) {
          if (valid == rows_per_group) {
            for (int r = 0; r < rows_per_group; ++r) packed[r] = from[r * step];
          } else {
            for (index r = 0; r < rows_per_group; ++r) packed[r] = r < valid ? from[r * step] : T(0);
          }
        }
      }
}

template <class T>
static void pack_matrices(const T* source, const Shape& s, index channels, bool transposed, T* packed) {
  if (s.block == 1) pack_rows(source, channels, s.latent, packed);
  else pack_blocks(source, s, channels, transposed, packed);
}

// A, b and, when `fresh`, the C_j and d_j of one of the sets of coefficients, as they are.
template <class T>
static void pack_set(const Problem<T>& problem, index set, bool transposed, bool fresh,
                     const Coefficients<T>& c) {
  const Shape& s = problem.shape;
  const T* matrices = problem.matrices + set * s.matrices_step();
  const T* vectors = problem.vectors + set * s.vectors_step();
  pack_matrices(matrices, s, 1, transposed, c.base);
  if (fresh)
    pack_matrices(matrices + s.matrix_entries(), s, s.matrix_noise, transposed, c.entries);
  if (transposed) return;
  pack_rows(vectors, 1, s.latent, c.shift_base);
  if (fresh) pack_rows(vectors + s.latent, s.vector_noise, s.latent, c.shifts);
}

// A and b become I + A dt and b dt.
template <class T>
static void advance_base(const Shape& s, T dt, bool transposed, const Coefficients<T>& c) {
  for (index e = 0; e < rows_per_group * matrix_groups(s); ++e) c.base[e] *= dt;
  if (s.block == 1) {
    for (index i = 0; i < s.latent; ++i) c.base[i] += T(1);
  } else {
    const index row_elements = rows_per_group * groups_of(s.block);
    for (index i = 0; i < s.latent; ++i) c.base[i * row_elements + i % s.block] += T(1);
  }
  if (transposed) return;
  for (index e = 0; e < rows_per_group * groups_of(s.latent); ++e) c.shift_base[e] *= dt;
}

// For the noise gradient four channels lie side by side, for each matrix entry and vector entry.
template <class T>
static void pack_by_noise(const Problem<T>& problem, index set, const Coefficients<T>& c) {
  const Shape& s = problem.shape;
  const T* matrices = problem.matrices + set * s.matrices_step();
  const T* vectors = problem.vectors + set * s.vectors_step();
  T* to = c.by_noise;
  for (index j = 0; j < s.noise; j += rows_per_group) {
    for (index e = 0; e < (s.matrix_noise > 0 ? s.matrix_entries() : 0); ++e, to += rows_per_group)
      for (index r = 0; r < rows_per_group; ++r)
        to[r] = j + r < s.matrix_noise ? matrices[(1 + j + r) * s.matrix_entries() + e] : T(0);
    for (index i = 0; i < (s.vector_noise > 0 ? s.latent : 0); ++i, to += rows_per_group)
      for (index r = 0; r < rows_per_group; ++r)
        to[r] = j + r < s.vector_noise ? vectors[(1 + j + r) * s.latent + i] : T(0);
  }
}

}  // namespace SLISDE_ISA
}  // namespace slisde
