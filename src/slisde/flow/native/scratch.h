// Scratch memory that outlives a call, since fresh pages cost more than the work of a short call.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace slisde {

class Scratch {
 public:
  explicit Scratch(std::size_t bytes) : block_(take(bytes)) {}
  ~Scratch() {
    std::lock_guard<std::mutex> lock(mutex());
    // A few blocks per thread are enough for every call to find its own again.
    if (idle().size() < kept) idle().push_back(std::move(block_));
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  template <class T>
  T* as() {
    return reinterpret_cast<T*>(block_.memory.get());
  }

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  struct Block {
    std::unique_ptr<std::byte, Free> memory;
    std::size_t bytes = 0;
  };
  static constexpr std::size_t kept = 16;

  // Neither is destroyed: a thread of the pool may still be at work when the process ends.
  static std::mutex& mutex() {
    static auto* m = new std::mutex;
    return *m;
  }
  static std::vector<Block>& idle() {
    static auto* blocks = new std::vector<Block>;
    return *blocks;
  }

  // The smallest idle block that is large enough, or a new one in place of the smallest.
  static Block take(std::size_t bytes) {
    {
      std::lock_guard<std::mutex> lock(mutex());
      auto& blocks = idle();
      auto best = blocks.end();
      for (auto it = blocks.begin(); it != blocks.end(); ++it)
        if (it->bytes >= bytes && (best == blocks.end() || it->bytes < best->bytes)) best = it;
      if (best != blocks.end()) {
        Block block = std::move(*best);
        blocks.erase(best);
        return block;
      }
      if (blocks.size() == kept) blocks.erase(blocks.begin());
    }
    Block block;
    block.bytes = bytes + 64;
    block.memory.reset(static_cast<std::byte*>(::operator new(block.bytes, std::align_val_t{64})));
    return block;
  }

  Block block_;
};

}  // namespace slisde
