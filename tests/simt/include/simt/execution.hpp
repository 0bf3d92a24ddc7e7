// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How a kernel runs on the CPU. The blocks of a grid run one after the other, the threads of a
// block as fibers, one at a time: a thread runs until it waits for others, then the next one does.
// All cooperation of threads goes through one of two functions, so that a new intrinsic needs only
// a payload and a function that computes it: block_barrier() and warp_collective().
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

#include "vector_types.hpp"

// As in device code: of the thread that runs now, its block and its grid.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

namespace simt {

using Where = std::source_location;

/// Something that the lanes of a warp do together.
struct Collective {
  const char* name;
  unsigned mask;  ///< the lanes
  Where where;
  /// Called once when all lanes of the mask have arrived, with their payloads, by lane.
  void (*complete)(void* const* payloads, unsigned mask);
};

/// Waits until all lanes of the mask are at the same place of the code with the same mask. If some
/// can no longer arrive, that is reported.
void warp_collective(const Collective& collective, void* payload);

struct BarrierResult {
  int holds_for;  ///< of how many threads the predicate holds
  int threads;
};

/// Waits until all threads of the block are at the same barrier. If some have ended, or are at
/// another, that is reported.
BarrierResult block_barrier(const char* name, Where where, bool predicate = false);

/// Says what is wrong, with the kernel, block and thread that run now, and aborts.
[[noreturn, gnu::format(printf, 2, 3)]] void report(Where where, const char* format, ...);

/// Of the thread that runs now.
extern int lane;

/// A number that stays the same while the running thread goes from its start to its end, and that
/// no other thread of the launch has.
std::uint64_t thread_number();

struct Launch {
  const void* kernel;  ///< its address, for its name
  dim3 grid, block;
  std::size_t shared_bytes;
  void (*run_thread)(const void* parameters);
  const void* parameters;
};

/// Runs all of it.
void run(const Launch& launch);

/// What runs now, or null.
const Launch* current_launch();

/// The block's dynamic shared memory.
void* dynamic_shared_memory();

/// The order in which threads run between barriers, so that a missing barrier shows in one of them.
/// XCORR_SIMT_ORDER sets it: ascending, descending, or shuffled[:SEED].
enum class Order : std::uint8_t { ascending, descending, shuffled };
void set_order(Order order, std::uint64_t seed = 1);

}  // namespace simt
