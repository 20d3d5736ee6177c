// The two calls that JAX makes: slisde_forward and slisde_backward.
#include "driver.h"
#include "huge_pages.h"
#include "instruction_set.h"
#include "operands.h"

namespace slisde {
namespace {

// What is not an array.
struct Options {
  double amplitude;
  double norm_epsilon;
  std::int32_t norm;
};

// Larger than the caches of most machines.
constexpr index stream_bytes = index{64} << 20;

template <class T>
const Kernels<T>& kernels_for() {
  if constexpr (sizeof(T) == 4) return chosen_kernels().single;
  else return chosen_kernels().twice;
}

template <class T, class Operands>
Problem<T> read_problem(const Operands& in, const Options& options, Check& check) {
  Problem<T> problem;
  problem.shape = read_shape(in, check);
  const auto data = [&](Operand o) -> const T* {
    return present(in(o)) ? static_cast<const T*>(in(o).untyped_data()) : nullptr;
  };
  problem.matrices = data(matrices);
  problem.vectors = data(vectors);
  problem.features = data(features);
  problem.dt = data(dt);
  problem.noise = data(noise);
  problem.initial = data(initial);
  problem.scale = data(scale);
  problem.offset = data(offset);
  problem.previous = data(previous);
  problem.gate_kernel = data(gate_kernel);
  problem.gate_bias = data(gate_bias);
  problem.readout = data(readout);
  problem.amplitude = T(options.amplitude);
  problem.norm_epsilon = T(options.norm_epsilon);
  const Shape& s = problem.shape;
  problem.stream = (s.steps + 1) * s.latent * s.paths * index(sizeof(T)) > stream_bytes;
  problem.norm = options.norm == 0 ? Norm::rms : Norm::layer;
  return problem;
}

template <class T, class Operands, class Results>
ffi::Error forward(ffi::ThreadPool threads, const Operands& in, const Results& out,
                   const Options& options) {
  Check check;
  Problem<T> problem = read_problem<T>(in, options, check);
  const Shape& s = problem.shape;
  check.shape("path", out(0), {s.steps + 1, s.latent, s.paths});
  if (s.outputs > 0) check.shape("observed", out(1), {s.steps + 1, s.outputs, s.paths});
  check.shape("end", out(2), {s.latent, s.paths});
  if (!check.ok()) return check.error();
  problem.path = static_cast<T*>(out(0).untyped_data());
  problem.observed = static_cast<T*>(out(1).untyped_data());
  problem.end = static_cast<T*>(out(2).untyped_data());
  Pool pool(threads);
  Driver<T>(kernels_for<T>(), problem, pool).forward();
  return ffi::Error::Success();
}

template <class T, class Operands, class Results>
ffi::Error backward(ffi::ThreadPool threads, const Operands& in, const Results& out,
                    const Options& options) {
  Check check;
  Problem<T> problem = read_problem<T>(in, options, check);
  const Shape& s = problem.shape;
  check.shape("path", in(path), {s.steps + 1, s.latent, s.paths});
  if (present(in(path_bar))) check.shape("path_bar", in(path_bar), {s.steps + 1, s.latent, s.paths});
  if (present(in(observed_bar)))
    check.shape("observed_bar", in(observed_bar), {s.steps + 1, s.outputs, s.paths});
  if (present(in(end_bar))) check.shape("end_bar", in(end_bar), {s.latent, s.paths});
  if (!check.ok()) return check.error();
  // Only read: the backward pass has no results in the forward pass's arrays.
  problem.path = static_cast<T*>(in(path).untyped_data());
  const auto result = [&](Gradient g) -> T* {
    return present(out(g)) ? static_cast<T*>(out(g).untyped_data()) : nullptr;
  };
  Adjoint<T> adjoint;
  const auto cotangent = [&](Operand o) -> const T* {
    return present(in(o)) ? static_cast<const T*>(in(o).untyped_data()) : nullptr;
  };
  adjoint.path = cotangent(path_bar);
  adjoint.observed = cotangent(observed_bar);
  adjoint.end = cotangent(end_bar);
  adjoint.noise = result(noise_bar);
  adjoint.initial = result(initial_bar);
  adjoint.scale = result(scale_bar);
  adjoint.offset = result(offset_bar);
  adjoint.previous = result(previous_bar);
  Pool pool(threads);
  Driver<T>(kernels_for<T>(), problem, pool)
      .backward(adjoint, {result(matrices_bar), result(vectors_bar), result(gate_kernel_bar),
                          result(gate_bias_bar), result(readout_bar), result(features_bar)});
  return ffi::Error::Success();
}

// Unpacks the untyped argument lists once, so that the code above can index them by name.
template <bool is_forward>
ffi::Error call(ffi::ThreadPool threads, ffi::RemainingArgs args, ffi::RemainingRets rets,
                double amplitude, double norm_epsilon, std::int32_t norm) {
  if (args.size() != (is_forward ? 12 : 16) || rets.size() != (is_forward ? 3 : 11))
    return ffi::Error::InvalidArgument("slisde native: wrong number of operands or results");
  const auto in = [&](int i) { return *args.get<ffi::AnyBuffer>(i); };
  const auto out = [&](int i) { return **rets.get<ffi::AnyBuffer>(i); };
  const ffi::DataType type = in(0).element_type();
  for (std::size_t i = 1; i < args.size(); ++i)
    if (in(i).element_type() != type)
      return ffi::Error::InvalidArgument("slisde native: all arrays must have one element type");
  for (std::size_t i = 0; i < rets.size(); ++i)
    prefer_huge_pages(out(i).untyped_data(), out(i).size_bytes());
  const Options options{amplitude, norm_epsilon, norm};
  if (type == ffi::F32) {
    if constexpr (is_forward) return forward<float>(threads, in, out, options);
    else return backward<float>(threads, in, out, options);
  }
  if (type == ffi::F64) {
    if constexpr (is_forward) return forward<double>(threads, in, out, options);
    else return backward<double>(threads, in, out, options);
  }
  return ffi::Error::InvalidArgument("slisde native: arrays must be float32 or float64");
}

}  // namespace
}  // namespace slisde

#define SLISDE_CALL(name, is_forward)                                              \
  extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* name(           \
      XLA_FFI_CallFrame* frame);                                                   \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(name, slisde::call<is_forward>,                    \
                                xla::ffi::Ffi::Bind()                              \
                                    .Ctx<xla::ffi::ThreadPool>()                   \
                                    .RemainingArgs()                               \
                                    .RemainingRets()                               \
                                    .Attr<double>("amplitude")                     \
                                    .Attr<double>("norm_epsilon")                  \
                                    .Attr<std::int32_t>("norm"))
SLISDE_CALL(slisde_forward, true);
SLISDE_CALL(slisde_backward, false);
