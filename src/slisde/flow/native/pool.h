// A parallel loop on XLA's own thread pool.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "problem.h"
#include "xla/ffi/api/ffi.h"

namespace slisde {

class Pool {
 public:
  explicit Pool(xla::ffi::ThreadPool& pool)
      : pool_(pool), threads_(std::max<index>(1, pool.num_threads())) {}

  index threads() const { return threads_; }

  // Calls body(0) .. body(count-1), in any order, on the caller and on idle threads of the pool.
  // The caller waits only for items that a running thread has taken, never for a task that has not
  // started: the pool may be busy with the very computation that waits for us. A task which starts
  // late finds nothing to take, and keeps alive only the counters.
  template <class Body>
  void run(index count, const Body& body) {
    struct State {
      std::atomic<index> next{0};
      index done = 0;
      std::mutex mutex;
      std::condition_variable finished;
    };
    auto state = std::make_shared<State>();
    auto work = [state, count, &body] {
      for (index i; (i = state->next.fetch_add(1)) < count;) {
        body(i);
        std::lock_guard<std::mutex> lock(state->mutex);
        if (++state->done == count) state->finished.notify_one();
      }
    };
    for (index t = 1; t < std::min(threads_, count); ++t) pool_.Schedule(decltype(work)(work));
    work();
    std::unique_lock<std::mutex> lock(state->mutex);
    state->finished.wait(lock, [&] { return state->done == count; });
  }

 private:
  xla::ffi::ThreadPool& pool_;
  index threads_;
};

}  // namespace slisde
