// Panels: copies of a tile's rows in which the paths of one register tile lie side by side.
//
// In [.., d, B] two rows are B elements apart, often a power of two, and would fall into the same
// cache sets; a panel [row][panel_width] is contiguous. Lanes beyond the last path hold zeros.
#pragma once

#include "simd.h"

namespace slisde {
namespace SLISDE_ISA {

// The tile a thread is working on.
struct View {
  Tile tile;
  index paths;  // B
  index count() const { return tile.count; }
  index offset(index p) const { return tile.panels[p].first; }
  index width(index p) const { return tile.panels[p].width; }
  index vectors(index p) const { return tile.panels[p].vectors; }
};

// Copies (or adds) rows [rows, B] of an array into panels of `panel_rows` rows each, from row `at` on.
template <class T, bool add = false>
static void gather(const View& view, const T* source, index rows, T* panels, index panel_rows,
                   index at = 0) {
  for (index r = 0; r < rows; ++r) {
    const T* from = source + r * view.paths;
    T* to = panels + (at + r) * panel_width<T>;
    for (index p = 0; p < view.count(); ++p, to += panel_rows * panel_width<T>) {
      const T* x = from + view.offset(p);
      const index width = view.width(p);
      index c = 0;
      for (; c + lanes<T> <= width; c += lanes<T>) store(to + c, add ? load(to + c) + load(x + c) : load(x + c));
      if (c < width) {
        Vec<T> last{};
        __builtin_memcpy(&last, x + c, (width - c) * sizeof(T));
        store(to + c, add ? load(to + c) + last : last);
      }
    }
  }
}

// The way back. With `stream` the stores go past the caches: an array larger than them would
// otherwise first be read, only to be overwritten.
template <class T>
static void scatter(const View& view, const T* panels, index rows, T* target, index panel_rows,
                    bool stream = false) {
  // Whole rows of vectors must then be aligned.
  stream = stream && view.paths % lanes<T> == 0 &&
           reinterpret_cast<std::uintptr_t>(target) % vector_bytes == 0;
  for (index r = 0; r < rows; ++r) {
    T* to = target + r * view.paths;
    const T* from = panels + r * panel_width<T>;
    for (index p = 0; p < view.count(); ++p, from += panel_rows * panel_width<T>) {
      T* x = to + view.offset(p);
      const index width = view.width(p);
      index c = 0;
      if (stream)
        for (; c + lanes<T> <= width; c += lanes<T>) store_past_caches(x + c, load(from + c));
      for (; c + lanes<T> <= width; c += lanes<T>) store(x + c, load(from + c));
      if (c < width) __builtin_memcpy(x + c, from + c, (width - c) * sizeof(T));
    }
  }
}

template <class T>
SLISDE_INLINE bool ragged(const View& view, index p) {
  return view.width(p) != view.vectors(p) * lanes<T>;
}

// Lanes without a path must stay zero where sums over lanes are taken: there 0 * inf would turn a
// sum that is infinite into NaN.
template <class T>
static void clear_missing(T* panel, index rows, index width) {
  for (index r = 0; r < rows; ++r)
    for (index c = width; c < round_up(width, lanes<T>); ++c) panel[r * panel_width<T> + c] = 0;
}

}  // namespace SLISDE_ISA
}  // namespace slisde
