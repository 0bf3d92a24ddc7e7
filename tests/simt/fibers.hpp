// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A pool of fibers (Boost.Context), one of which runs at a time and switches directly to another.
#pragma once

#include <sys/mman.h>

#include <boost/context/fiber.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "simt/sanitizer.hpp"

namespace simt {

namespace context = boost::context;

/// Where a fiber goes on, while another runs.
using Fiber = context::fiber;

/// Memory of all stacks, of which fiber number `number` has one for good. In huge pages, since the
/// cost of a switch is mainly cache misses. Tops are staggered, or the threads of a warp would
/// compete for the same cache lines. Memory past a stack's end must not be accessed.
struct StackMemory {
  static constexpr std::size_t max_fibers = 1024;
  static constexpr std::size_t reserved = 128 * 1024, guard = 4096, page = 2 << 20;
  std::size_t number;

  static char* all() {
    const std::size_t bytes = reserved * max_fibers;
    void* memory = mmap(nullptr, bytes + page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      std::perror("simt: no memory for stacks");
      std::abort();
    }
    const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + page - 1) / page * page;
    madvise(reinterpret_cast<void*>(begin), bytes, MADV_HUGEPAGE);
    return reinterpret_cast<char*>(begin);
  }

  context::stack_context allocate() const {
    static char* const memory = all();
    char* const begin = memory + number * reserved;
    forbid(begin, guard);
    context::stack_context stack;
    stack.size = reserved - guard - number % 29 * 192;
    stack.sp = begin + guard + stack.size;
    return stack;
  }
  void deallocate(context::stack_context&) const {}
};

class Fibers {
 public:
  /// `work` is what a fiber does; it never returns.
  explicit Fibers(void (*work)()) : work_(work) {}

  /// The one that runs, first of all the caller's.
  Fiber* running() { return running_; }
  Fiber* caller() { return &caller_; }

  Fiber* take() {
    if (free_.empty())
      free_.push_back(
          all_.emplace_back(std::make_unique<Fiber>(std::allocator_arg, StackMemory{all_.size()},
                                                    [this](Fiber&& from) -> Fiber {
                                                      arrive(std::move(from));
                                                      work_();
                                                      std::abort();
                                                    }))
              .get());
    Fiber* fiber = free_.back();
    free_.pop_back();
    return fiber;
  }

  /// The running fiber has nothing to do but to switch to another; take() may give it out again.
  void give_back() { free_.push_back(running_); }

  /// Comes back when another fiber resumes the running one.
  void resume(Fiber* fiber) {
    left_ = running_;
    running_ = fiber;
    arrive(std::move(*fiber).resume());
  }

 private:
  void arrive(Fiber&& from) { *left_ = std::move(from); }

  void (*work_)();
  std::vector<std::unique_ptr<Fiber>> all_;
  std::vector<Fiber*> free_;
  Fiber caller_;
  Fiber* running_ = &caller_;
  Fiber* left_ = nullptr;  ///< ran before
};

}  // namespace simt
