// What a call computes on: plain data, shared by the driver and by every compilation of the kernels.
//
// Nothing here may depend on the instruction set: the kernels are compiled several times with
// different flags, and a type that changed with them would break the one definition rule.
#pragma once

#include <cstdint>

namespace slisde {

using index = std::int64_t;

// Norm of the previous layer's state in front of the gate.
enum class Norm : int { rms = 0, layer = 1 };

// Sizes of Z[k+1] = F[k] Z[k] + g[k] with d = blocks * block.
struct Shape {
  index steps = 0;         // N
  index paths = 0;         // B
  index latent = 0;        // d
  index block = 0;         // side of a diagonal block
  index noise = 0;         // m
  index matrix_noise = 0;  // m, or 0 for additive noise
  index vector_noise = 0;  // m, or 0 for multiplicative noise
  index outputs = 0;       // rows of the readout, 0 without one
  index basis = 0;         // functions of time that coefficients are combined from, or 0
  bool coefficients_vary = false;  // one set per step, given or combined, or one for all steps
  bool bias_varies = false;        // the same for the bias of the gate

  index blocks() const { return latent / block; }
  index matrix_entries() const { return latent * block; }
  // Elements of one step's coefficients, all channels; of one member of a basis just the same.
  index matrices_step() const { return (1 + matrix_noise) * matrix_entries(); }
  index vectors_step() const { return (1 + vector_noise) * latent; }
  index gate_step() const { return 4 * latent; }
};

// Operands; a null pointer means "absent". Arrays are row-major with paths last.
template <class T>
struct Problem {
  Shape shape;
  const T* matrices = nullptr;     // [K, 1+mC, blocks, block, block]; with features K is E
  const T* vectors = nullptr;      // [K, 1+mD, d]
  const T* features = nullptr;     // [N, E]
  const T* dt = nullptr;           // [N]
  const T* noise = nullptr;        // [N, m, B]
  const T* initial = nullptr;      // [d, B]
  const T* scale = nullptr;        // [N, d, B]
  const T* offset = nullptr;       // [N, d, B]
  const T* previous = nullptr;     // [N+1, d, B]
  const T* gate_kernel = nullptr;  // [4, d, d]
  const T* gate_bias = nullptr;    // [Kg, 4, d]
  const T* readout = nullptr;      // [p, d]
  T amplitude = 0;
  T norm_epsilon = 0;
  Norm norm = Norm::rms;
  bool stream = false;    // path arrays are larger than the caches
  T* path = nullptr;      // [N+1, d, B], written by the forward pass, read by the backward pass
  T* observed = nullptr;  // [N+1, p, B]
  T* end = nullptr;       // [d, B]: the last node once more, with a cotangent of its own

  bool gated() const { return gate_kernel != nullptr; }
  bool scaled() const { return gated() || scale != nullptr; }
};

// Cotangents in, and the gradients that belong to one path (the others are sums, see Sums).
template <class T>
struct Adjoint {
  const T* path = nullptr;      // [N+1, d, B] or null when nothing looks at the path itself
  const T* observed = nullptr;  // [N+1, p, B] or null
  const T* end = nullptr;       // [d, B] or null
  T* noise = nullptr;           // [N, m, B] or null when not wanted
  T* initial = nullptr;         // [d, B]; between two segments of time it carries the costate
  T* scale = nullptr;           // [N, d, B]
  T* offset = nullptr;          // [N, d, B]
  T* previous = nullptr;        // [N+1, d, B]
};

// Where one group of tiles adds its part of the gradients that are sums over paths. Arrays with a
// step axis start at the first step of the segment being worked on.
template <class T>
struct Sums {
  T* matrices = nullptr;
  T* vectors = nullptr;
  T* gate_bias = nullptr;    // [steps of the segment, 4, d]
  T* gate_kernel = nullptr;  // accumulator in the kernels' own layout
  T* readout = nullptr;      // [p, d, lanes]
};

// Operands in the order in which the inner loops read them, packed once for all tiles.
template <class T>
struct Packed {
  const T* gate = nullptr;   // the weights of the gate, for both directions
  const T* basis = nullptr;  // the members of the basis of the coefficients, for one direction
};

// Sums over paths of the gradient of one kind of coefficients, [step of the segment][entry] in every
// group, and where they go when the coefficients are combinations: the gradients of the members, and
// of the features.
template <class T>
struct BasisGradient {
  T* sums;             // of the first group; all groups are cleared
  index group_stride;  // from a group to the next one
  index groups;
  index steps;
  index entries;
  index members;        // E
  const T* features;    // [steps, E]
  const T* basis;       // [E, entries]
  T* basis_bar;         // [E, entries], added to
  T* features_bar;      // [steps, E], added to
};

// Paths are cut into vectors of the machine, these into panels of at most three vectors, and a tile
// is a range of panels that one thread runs through time.
struct Panel {
  index first = 0;    // path
  index width = 0;    // paths
  index vectors = 0;  // that hold them
};

struct Tile {
  const Panel* panels = nullptr;
  index count = 0;
};

struct Span {
  index begin = 0;
  index end = 0;
};

// One compilation of the kernels for one element type.
template <class T>
struct Kernels {
  index lanes;
  index (*scratch_elements)(const Problem<T>&, index tile_panels);
  index (*gate_kernel_elements)(const Shape&);  // size of Sums::gate_kernel
  index (*packed_gate_elements)(const Shape&);
  index (*packed_basis_elements)(const Shape&);
  void (*pack_gate)(const Problem<T>&, T* packed);
  // `transposed` for the backward pass.
  void (*pack_basis)(const Problem<T>&, bool transposed, T* packed);
  void (*forward)(const Problem<T>&, Tile, const Packed<T>&, T* scratch);
  void (*backward)(const Problem<T>&, const Adjoint<T>&, const Sums<T>&, const Tile* tiles,
                   index tile_count, Span steps, const Packed<T>&, T* scratch);
  // For the entries `first` .. `last`.
  void (*add_basis_gradient)(const BasisGradient<T>&, index first, index last);
  // Adds accumulators in Sums::gate_kernel layout into gate_kernel_bar [4, d, d], in order.
  void (*unpack_gate_kernel)(const Shape&, const T* const* parts, index count, T* out);
};

struct KernelSet {
  const char* name;
  Kernels<float> single;
  Kernels<double> twice;
};

}  // namespace slisde
