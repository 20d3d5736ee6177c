// All kernels for one instruction set: this file is compiled once per SLISDE_ISA.
#include "backward.h"
#include "forward.h"

namespace slisde {
namespace SLISDE_ISA {

template <class T>
static index scratch_elements(const Problem<T>& problem, index tile_panels) {
  const index forward_use = ForwardSpace<T>(problem, tile_panels, Arena<T>(nullptr)).used;
  const index backward_use = BackwardSpace<T>(problem, tile_panels, Arena<T>(nullptr)).used;
  return forward_use > backward_use ? forward_use : backward_use;
}

static index packed_gate_elements(const Shape& s) { return 2 * packed_gate_half(s); }

template <class T>
static constexpr Kernels<T> kernels() {
  return {lanes<T>,
          scratch_elements<T>,
          GateWeights<T>::accumulator_elements,
          packed_gate_elements,
          packed_basis_elements<T>,
          pack_gate<T>,
          pack_basis<T>,
          forward<T>,
          backward<T>,
          add_basis_gradient<T>,
          GateWeights<T>::unpack};
}

// Constant-initialised: code run at load time must not use instructions the machine may lack.
extern const KernelSet kernel_set;
constexpr KernelSet kernel_set = {SLISDE_ISA_NAME, kernels<float>(), kernels<double>()};

}  // namespace SLISDE_ISA
}  // namespace slisde
