// Asks for the rows of the next step a line at a time, between the products of this one.
//
// The rows are too far apart for the hardware to see a stream, and asked for all at once they would
// stall the core for as long as they take to arrive.
#pragma once

#include "panel.h"

namespace slisde {
namespace SLISDE_ISA {

template <class T>
class Prefetcher {
 public:
  explicit Prefetcher(const View& view)
      : stride_(view.paths), begin_(view.offset(0)),
        end_(view.offset(view.count() - 1) + view.width(view.count() - 1)) {}

  void start() { blocks_ = block_ = row_ = 0, column_ = begin_, lines_ = 0; }
  // Rows that will be read; null for none.
  void add(const T* rows, index count) {
    if (rows == nullptr || count == 0) return;
    block_rows_[blocks_] = rows;
    block_count_[blocks_++] = count;
    lines_ += count * ((end_ - begin_ + line - 1) / line);
  }
  // How often `next` will be called before the rows are needed.
  void spread(index calls) { per_call_ = (lines_ + calls - 1) / calls; }

  void next() {
    for (index n = 0; n < per_call_ && block_ < blocks_; ++n) {
      __builtin_prefetch(block_rows_[block_] + row_ * stride_ + column_, 0, 2);
      column_ += line;
      if (column_ < end_) continue;
      column_ = begin_;
      if (++row_ < block_count_[block_]) continue;
      row_ = 0;
      ++block_;
    }
  }

 private:
  static constexpr index line = 64 / index(sizeof(T));
  static constexpr int capacity = 4;
  const T* block_rows_[capacity];
  index block_count_[capacity];
  index stride_, begin_, end_;
  index blocks_ = 0, block_ = 0, row_ = 0, column_ = 0, lines_ = 0, per_call_ = 0;
};

}  // namespace SLISDE_ISA
}  // namespace slisde
