// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Lists of candidate positions and their order, shared by the families that find peaks.
#pragma once

#include "cuda/common/launch.cuh"
#include "cuda/common/warp.cuh"
#include "stages/match/peaks.hpp"

namespace xcorr::cuda {

using Key = unsigned long long;

/// Orders shifts: the better score, then the earlier in raster order, has the larger key; 0 means
/// no shift. `index`: of the shift, y * width + x.
__device__ inline Key key_of(float score, bool minimum, unsigned index) {
  const unsigned bits = __float_as_uint((minimum ? -score : score) + 0.0f);  // -0 becomes +0
  const unsigned ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return Key{ordered} << 32 | ~index;
}

__device__ inline unsigned index_of(Key key) { return ~static_cast<unsigned>(key); }

__device__ inline float score_of(Key key, bool minimum) {
  const auto ordered = static_cast<unsigned>(key >> 32);
  const float score = __uint_as_float(ordered & 0x80000000u ? ordered & ~0x80000000u : ~ordered);
  return minimum ? -score : score;
}

__device__ inline Candidate candidate_of(Key key, bool minimum, int width) {
  const unsigned index = index_of(key);
  return {score_of(key, minimum), static_cast<std::int32_t>(index % width),
          static_cast<std::int32_t>(index / width)};
}

/// A key and the number of what has it: of a place in a list, or of a template.
struct KeyAt {
  Key key;
  unsigned at;

  __device__ void take_better(const KeyAt& other) {
    if (other.key > key) *this = other;
  }
};

/// The best of a warp's, for all of its lanes.
__device__ inline KeyAt best_of_warp(KeyAt mine) {
  for (int step = 16; step > 0; step /= 2)
    mine.take_better({__shfl_xor_sync(~0u, mine.key, step), __shfl_xor_sync(~0u, mine.at, step)});
  return mine;
}

/// The shifts that a peak suppresses, both ends included.
struct Box {
  int x0, y0, x1, y1;

  __device__ Box(const stage::Peaks::Problem& p, Key peak) {
    const int width = p.correlate.shifts.width;
    const int x = index_of(peak) % width, y = index_of(peak) / width;
    x0 = x - p.distance_x + 1;
    y0 = y - p.distance_y + 1;
    x1 = x + p.distance_x - 1;
    y1 = y + p.distance_y - 1;
  }
  __device__ bool has(int x, int y) const { return x >= x0 && x <= x1 && y >= y0 && y <= y1; }
  __device__ bool has(Key key, int width) const {
    return has(static_cast<int>(index_of(key) % width), static_cast<int>(index_of(key) / width));
  }
};

/// In a workspace: for each template of a launch a list of at most `length` keys, then the numbers
/// found.
struct PeakLists {
  Key* keys;
  unsigned* found;
  std::int64_t length;

  PeakLists(std::int64_t length, void* workspace, int rights)
      : keys(static_cast<Key*>(workspace)),
        found(reinterpret_cast<unsigned*>(keys + rights * length)),
        length(length) {}
  __device__ void append(int right, Key key) const {
    keys[right * length + atomicAdd(&found[right], 1u)] = key;
  }
  /// Called by all lanes of a warp: a lane's next() is called for each of its keys.
  template <class Next>
  __device__ void append_by_warp(int right, int count, Next next) const {
    const int upto = warp_scan(count), total = __shfl_sync(~0u, upto, 31);
    if (total == 0) return;
    const int lane = threadIdx.x % 32;
    unsigned first = 0;
    if (lane == 0) first = atomicAdd(&found[right], static_cast<unsigned>(total));
    first = __shfl_sync(~0u, first, 0) + upto - count;
    for (int i = 0; i < count; ++i) keys[right * length + first + i] = next();
  }
  static std::size_t bytes(std::int64_t length, int rights) {
    return rights * (length * sizeof(Key) + sizeof(unsigned));
  }
};

}  // namespace xcorr::cuda
