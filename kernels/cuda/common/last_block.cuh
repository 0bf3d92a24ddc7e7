// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Determines which block of a group finishes last, so that it can complete the group's work without
// another launch. Each group has a counter, which is 0 before and after.
#pragma once

#include "cuda/common/launch.cuh"
#include "device/runtime.hpp"

namespace xcorr::cuda {

class BlockCounters final : public PlanState {
 public:
  /// Waits until the counters are 0.
  static Result<std::unique_ptr<PlanState>> make(std::int64_t groups) {
    auto block = Block::make(Backend::cuda, static_cast<std::size_t>(groups) * sizeof(unsigned));
    if (!block.ok()) return block.status();
    if (Status s = check(cudaMemsetAsync(block.value().data(), 0, block.value().bytes(), nullptr),
                         "counters");
        !s.ok())
      return s;
    if (Status s = runtime(Backend::cuda).wait({}); !s.ok()) return s;
    return std::unique_ptr<PlanState>(new BlockCounters(std::move(block.value())));
  }

  Status set_rights(const void*, Stream) override { return {}; }
  unsigned* counters() const { return block_.as<unsigned>(); }

 private:
  explicit BlockCounters(Block block) : block_(std::move(block)) {}
  Block block_;
};

/// Called by all threads of a block after it wrote its results to global memory, if it `wrote`,
/// by thread 0 or by others that a barrier followed: whether the group's `blocks` - 1 other blocks
/// have already called this. The last one sees their results by volatile loads.
__device__ inline bool is_last_block(unsigned* counter, unsigned blocks, bool wrote = true) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    if (wrote) __threadfence();  // it costs most of a microsecond
    is_last = atomicInc(counter, blocks - 1) == blocks - 1;
    if (is_last) __threadfence();
  }
  __syncthreads();
  return is_last;
}

}  // namespace xcorr::cuda
