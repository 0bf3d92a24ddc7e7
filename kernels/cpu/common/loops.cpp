// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How the loops of the CPU families are shared out to threads.
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "cpu/common/common.hpp"

namespace xcorr::cpu {

void run_blocks(std::int64_t first, std::int64_t last, LoopBlock block) {
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(first, last),
                    [&](const tbb::blocked_range<std::int64_t>& range) {
                      block.call(block.block, range.begin(), range.end());
                    });
}

void run_each(std::int64_t first, std::int64_t last, LoopBlock block) {
  tbb::parallel_for(
      first, last, [&](std::int64_t index) { block.call(block.block, index, index + 1); },
      tbb::simple_partitioner());
}

}  // namespace xcorr::cpu
