// Fresh results on huge pages: a path array is hundreds of megabytes, touched for the first time by
// the kernel that writes it, row by row a page apart. Small pages cost a fault each and then a miss
// of the translation buffer per row.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace slisde {

inline void prefer_huge_pages(void* memory, std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::uintptr_t huge = std::uintptr_t{2} << 20;
  const auto first = (reinterpret_cast<std::uintptr_t>(memory) + huge - 1) / huge * huge;
  const auto last = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / huge * huge;
  // Only advice: where it is refused nothing is lost.
  if (memory != nullptr && first < last)
    (void)madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#else
  (void)memory;
  (void)bytes;
#endif
}

}  // namespace slisde
