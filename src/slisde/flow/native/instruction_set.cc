#include "instruction_set.h"

#include <cstdlib>
#include <cstring>

namespace slisde {

#define SLISDE_DECLARE(isa)            \
  namespace isa {                      \
  extern const KernelSet kernel_set;   \
  }
SLISDE_DECLARE(baseline)
#ifdef SLISDE_HAVE_AVX2
SLISDE_DECLARE(avx2)
#endif
#ifdef SLISDE_HAVE_AVX512
SLISDE_DECLARE(avx512)
#endif

static const KernelSet& choose() {
  const char* wish = std::getenv("SLISDE_ISA");
  const auto allowed = [&](const KernelSet& set) {
    return wish == nullptr || *wish == '\0' || std::strcmp(wish, set.name) == 0;
  };
#ifdef SLISDE_HAVE_AVX512
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      allowed(avx512::kernel_set))
    return avx512::kernel_set;
#endif
#ifdef SLISDE_HAVE_AVX2
  // A wish for more than the machine has gets the best below it.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      (allowed(avx2::kernel_set) || (wish != nullptr && std::strcmp(wish, "avx512") == 0)))
    return avx2::kernel_set;
#endif
  (void)allowed;
  return baseline::kernel_set;
}

const KernelSet& chosen_kernels() {
  static const KernelSet& set = choose();
  return set;
}

}  // namespace slisde

extern "C" __attribute__((visibility("default"))) const char* slisde_instruction_set() {
  return slisde::chosen_kernels().name;
}
