// Scratch memory of a tile: one block, handed out in order.
#pragma once

#include "simd.h"

namespace slisde {
namespace SLISDE_ISA {

template <class T>
class Arena {
 public:
  explicit Arena(T* memory) : memory_(memory) {}
  // With a null block nothing is touched: the sizes alone are added up.
  T* take(index elements) {
    T* here = memory_ + used_;
    used_ += round_up(elements, 64 / index(sizeof(T)));
    return here;
  }
  T* panels(index count, index rows) { return take(count * rows * panel_width<T>); }
  index used() const { return used_; }

 private:
  T* memory_;
  index used_ = 0;
};

}  // namespace SLISDE_ISA
}  // namespace slisde
