// Operands of a call by name, with their shapes checked against each other.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "problem.h"
#include "xla/ffi/api/ffi.h"

namespace slisde {

namespace ffi = xla::ffi;

// Order of the operands of both calls; the backward call has four more.
enum Operand {
  matrices, vectors, dt, noise, initial, scale, offset, previous, gate_kernel, gate_bias, readout,
  features, path, path_bar, observed_bar, end_bar
};
// Order of the results of the backward call.
enum Gradient {
  matrices_bar, vectors_bar, noise_bar, initial_bar, scale_bar, offset_bar, previous_bar,
  gate_kernel_bar, gate_bias_bar, readout_bar, features_bar
};

// An optional operand that is absent comes as an array of shape [0].
inline bool present(const ffi::AnyBuffer& b) { return b.element_count() > 0; }

// Collects the first complaint; later checks are skipped.
class Check {
 public:
  bool ok() const { return message_.empty(); }
  ffi::Error error() const { return ffi::Error::InvalidArgument("slisde native: " + message_); }
  void require(bool condition, const std::string& message) {
    if (ok() && !condition) message_ = message;
  }
  void shape(const char* name, const ffi::AnyBuffer& b, std::initializer_list<index> wanted) {
    if (!ok()) return;
    const auto dims = b.dimensions();
    bool same = dims.size() == wanted.size();
    std::size_t i = 0;
    for (index n : wanted) same = same && dims[i++] == n;
    if (same) return;
    std::string text = std::string("`") + name + "` must have shape [";
    for (index n : wanted) text += std::to_string(n) + " ";
    text += "], got [";
    for (index n : dims) text += std::to_string(n) + " ";
    message_ = text + "]";
  }
  void rank(const char* name, const ffi::AnyBuffer& b, std::size_t rank) {
    require(b.dimensions().size() == rank, std::string("`") + name + "` must have rank " +
                                               std::to_string(rank) + ", got " +
                                               std::to_string(b.dimensions().size()));
  }

 private:
  std::string message_;
};

// The sizes of a call, read off matrices, noise and readout; every operand is then checked.
template <class Operands>
Shape read_shape(const Operands& in, Check& check) {
  Shape s;
  check.rank("matrices", in(matrices), 5);
  check.rank("vectors", in(vectors), 3);
  check.rank("noise", in(noise), 3);
  if (!check.ok()) return s;
  const auto m = in(matrices).dimensions();
  const auto w = in(noise).dimensions();
  s.steps = w[0];
  s.noise = w[1];
  s.paths = w[2];
  s.block = m[3];
  s.latent = m[2] * m[3];
  s.matrix_noise = m[1] - 1;
  s.vector_noise = in(vectors).dimensions()[1] - 1;
  s.basis = present(in(features)) ? m[0] : 0;
  s.coefficients_vary = s.basis > 0 || m[0] != 1;
  const index K = s.basis > 0 ? s.basis : s.coefficients_vary ? s.steps : 1, N = s.steps, d = s.latent, B = s.paths;
  check.require(N > 0 && B > 0 && d > 0 && s.noise > 0, "every size must be at least 1");
  check.require(s.matrix_noise == 0 || s.matrix_noise == s.noise,
                "`matrices` must have 1 channel or 1 + the channels of `noise`");
  check.require(s.vector_noise == 0 || s.vector_noise == s.noise,
                "`vectors` must have 1 channel or 1 + the channels of `noise`");
  check.shape("matrices", in(matrices), {K, 1 + s.matrix_noise, m[2], s.block, s.block});
  check.shape("vectors", in(vectors), {K, 1 + s.vector_noise, d});
  if (s.basis > 0) check.shape("features", in(features), {N, s.basis});
  check.shape("dt", in(dt), {N});
  check.shape("initial", in(initial), {d, B});
  check.require(present(in(scale)) == present(in(offset)), "`scale` and `offset` come together");
  if (present(in(scale))) {
    check.shape("scale", in(scale), {N, d, B});
    check.shape("offset", in(offset), {N, d, B});
  }
  if (present(in(gate_kernel))) {
    check.require(!present(in(scale)), "a gated call computes its own `scale` and `offset`");
    check.rank("gate_bias", in(gate_bias), 3);
    if (!check.ok()) return s;
    s.bias_varies = in(gate_bias).dimensions()[0] != 1;
    check.shape("previous", in(previous), {N + 1, d, B});
    check.shape("gate_kernel", in(gate_kernel), {4, d, d});
    check.shape("gate_bias", in(gate_bias), {s.bias_varies ? N : 1, 4, d});
  }
  if (present(in(readout))) {
    check.rank("readout", in(readout), 2);
    if (!check.ok()) return s;
    s.outputs = in(readout).dimensions()[0];
    check.shape("readout", in(readout), {s.outputs, d});
  }
  return s;
}

}  // namespace slisde
