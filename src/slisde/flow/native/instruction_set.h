// Which compilation of the kernels this machine runs.
#pragma once

#include "problem.h"

namespace slisde {

// The best set that was built and that the machine has, or the one named by SLISDE_ISA if it is not
// beyond the machine. Decided once.
const KernelSet& chosen_kernels();

}  // namespace slisde
