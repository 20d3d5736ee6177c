// Coefficients that are combinations sum_e features[k][e] basis[e] of a few members, formed step by
// step in the order in which the inner loops read them, so that no array of all steps is written
// (paper: app:time-dependent-coefficients).
#pragma once

#include "coefficients.h"
#include "microkernel.h"

namespace slisde {
namespace SLISDE_ISA {

// Every member packed like one step's coefficients, one after the other.
template <class T>
static index packed_basis_elements(const Shape& s) {
  return s.basis * Coefficients<T>::elements(s);
}

template <class T>
static void pack_basis(const Problem<T>& problem, bool transposed, T* packed) {
  const Shape& s = problem.shape;
  __builtin_memset(packed, 0, packed_basis_elements<T>(s) * sizeof(T));
  for (index e = 0; e < s.basis; ++e, packed += Coefficients<T>::elements(s)) {
    const Coefficients<T> member(s, packed);
    pack_set(problem, e, transposed, true, member);
    if (transposed) pack_by_noise(problem, e, member);
  }
}

// out[r][i] = sum_e features[e][r] basis[e][i] for R steps and `count` elements, rounded up to whole
// vectors. Several steps at once, because a member is read from further away than the nearest cache.
template <class T, int R>
static void combine(const T* features, index members, const T* basis, index count, T* out, index stride) {
  const index vectors = (count + lanes<T> - 1) / lanes<T>;
  for (index q = 0; q < vectors; q += widest)
    with_vectors(smaller(widest, vectors - q), [&](auto v) {
      constexpr int V = decltype(v)::value;
      Vec<T> sum[R][V] = {};
      accumulate<T, R, V>(sum, features, basis + q * lanes<T>, members, rows_per_group, stride);
      for (int r = 0; r < R; ++r)
        for (int i = 0; i < V; ++i) store(out + r * stride + (q + i) * lanes<T>, sum[r][i]);
    });
}

// The coefficients of one step after the other, forward or backward in time.
template <class T>
class StepCoefficients {
 public:
  static index elements(const Shape& s) { return at_once(s) * (Coefficients<T>::elements(s) + s.basis); }

  // Transposed for the backward pass, with those for the noise gradient `by_noise` if it is wanted.
  StepCoefficients(const Problem<T>& problem, const T* packed_basis, bool transposed, bool by_noise,
                   T* memory)
      : problem_(problem), s_(problem.shape), basis_(packed_basis), transposed_(transposed),
        by_noise_(by_noise), memory_(memory), stride_(Coefficients<T>::elements(s_)) {}

  Coefficients<T> at(index k) {
    if (s_.basis == 0) {
      const Coefficients<T> c(s_, memory_);
      const index set = s_.coefficients_vary ? k : 0;
      const bool fresh = s_.coefficients_vary || end_ == 0;
      pack_set(problem_, set, transposed_, fresh, c);
      if (by_noise_ && fresh) pack_by_noise(problem_, set, c);
      advance_base(s_, problem_.dt[k], transposed_, c);
      end_ = k + 1;
      return c;
    }
    if (k < begin_ || k >= end_) combine_from(k);
    return Coefficients<T>(s_, memory_ + (k - begin_) * stride_);
  }

 private:
  static index at_once(const Shape& s) { return s.basis > 0 ? rows_per_group : 1; }

  // As many steps from k on, in the direction of travel, as are held at once.
  void combine_from(index k) {
    begin_ = transposed_ ? (k >= rows_per_group ? k + 1 - rows_per_group : 0) : k;
    end_ = transposed_ ? k + 1 : smaller(k + rows_per_group, s_.steps);
    T* features = memory_ + rows_per_group * stride_;  // [E][4]
    for (index e = 0; e < s_.basis; ++e)
      for (index r = 0; r < end_ - begin_; ++r)
        features[e * rows_per_group + r] = problem_.features[(begin_ + r) * s_.basis + e];
    const index count = Coefficients<T>::matrix_elements(s_) +
                        (transposed_ ? 0 : Coefficients<T>::vector_elements(s_));
    with_rows(end_ - begin_, [&](auto rows) {
      constexpr int R = decltype(rows)::value;
      combine<T, R>(features, s_.basis, basis_, count, memory_, stride_);
      const index at = Coefficients<T>::step_elements(s_);
      if (by_noise_)
        combine<T, R>(features, s_.basis, basis_ + at, Coefficients<T>::noise_elements(s_),
                      memory_ + at, stride_);
    });
    for (index step = begin_; step < end_; ++step)
      advance_base(s_, problem_.dt[step], transposed_,
                   Coefficients<T>(s_, memory_ + (step - begin_) * stride_));
  }

  const Problem<T>& problem_;
  const Shape& s_;
  const T* basis_;
  bool transposed_, by_noise_;
  T* memory_;
  index stride_;
  index begin_ = 0, end_ = 0;
};

// The first `valid` elements of a vector, zeros after them.
template <class T>
SLISDE_INLINE Vec<T> load_part(const T* p, index valid) {
  if (valid >= lanes<T>) return load(p);
  Vec<T> v{};
  __builtin_memcpy(&v, p, valid * sizeof(T));
  return v;
}

// features_bar[e] += sum_i basis[e][i] gradient[i] for R members.
template <class T, int R>
static void add_feature_gradient(const T* basis, index stride, const T* gradient, index count,
                                 T* features_bar) {
  Vec<T> sum[R] = {};
  for (index i = 0; i < count; i += lanes<T>) {
    const Vec<T> g = load_part(gradient + i, count - i);
    for (int r = 0; r < R; ++r) sum[r] += g * load_part(basis + r * stride + i, count - i);
  }
  if constexpr (R == rows_per_group) {
    add_lane_sums<T>(sum[0], sum[1], sum[2], sum[3], features_bar);
  } else {
    for (int r = 0; r < R; ++r) features_bar[r] += lane_sum<T>(sum[r]);
  }
}

// basis_bar[e][i] += sum_k features[k][e] gradient[k][i] for R members and V vectors of entries.
template <class T, int R, int V>
static void add_member_gradient(const BasisGradient<T>& b, index e, index i) {
  Vec<T> sum[R][V] = {};
  accumulate<T, R, V>(sum, b.features + e, b.sums + i, b.steps, b.members, b.entries);
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) {
      T* out = b.basis_bar + (e + r) * b.entries + i + v * lanes<T>;
      store(out, load(out) + sum[r][v]);
    }
}

// The same for one entry, where a vector would reach into the next step.
template <class T>
static void add_entry_gradient(const BasisGradient<T>& b, index i) {
  for (index e = 0; e < b.members; ++e) {
    T sum = 0;
    for (index k = 0; k < b.steps; ++k) sum += b.features[k * b.members + e] * b.sums[k * b.entries + i];
    b.basis_bar[e * b.entries + i] += sum;
  }
}

template <class T>
static void add_basis_gradient(const BasisGradient<T>& b, index first, index last) {
  const index count = last - first;
  for (index k = 0; k < b.steps; ++k) {
    T* total = b.sums + k * b.entries + first;
    for (index g = 1; g < b.groups; ++g) {
      T* part = total + g * b.group_stride;
      for (index i = 0; i < count; ++i) total[i] += part[i];
      __builtin_memset(part, 0, count * sizeof(T));
    }
    for (index e = 0; e < b.members; e += rows_per_group)
      with_rows(b.members - e, [&](auto rows) {
        add_feature_gradient<T, decltype(rows)::value>(b.basis + e * b.entries + first, b.entries,
                                                       total, count, b.features_bar + k * b.members + e);
      });
  }
  index i = first;
  while (i + lanes<T> <= last) {
    const index vectors = smaller(widest, (last - i) / lanes<T>);
    for (index e = 0; e < b.members; e += rows_per_group)
      with_rows(b.members - e, [&](auto rows) {
        with_vectors(vectors, [&](auto v) {
          add_member_gradient<T, decltype(rows)::value, decltype(v)::value>(b, e, i);
        });
      });
    i += vectors * lanes<T>;
  }
  for (; i < last; ++i) add_entry_gradient(b, i);
  for (index k = 0; k < b.steps; ++k)
    __builtin_memset(b.sums + k * b.entries + first, 0, count * sizeof(T));
}

}  // namespace SLISDE_ISA
}  // namespace slisde
