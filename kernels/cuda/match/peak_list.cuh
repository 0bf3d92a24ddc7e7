// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Lists of candidate positions and their order, shared by the families that find peaks. Two members
// of a list are at least the distance apart in x or y, which bounds its length; sorting it
// (bitonic, in shared memory) gives the best ones.
#pragma once

#include "cuda/common/launch.cuh"
#include "stages/peaks.hpp"

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

/// For each template.
inline std::int64_t list_length(const stage::Peaks::Problem& p) {
  const Rect s = p.correlate.shifts;
  return std::int64_t{ceil_div(s.width, p.distance_x)} * ceil_div(s.height, p.distance_y);
}

/// In a workspace: for each template of a launch a list, then the numbers found.
struct PeakLists {
  Key* keys;
  unsigned* found;
  std::int64_t length;

  PeakLists(const stage::Peaks::Problem& p, void* workspace, int rights)
      : keys(static_cast<Key*>(workspace)),
        found(reinterpret_cast<unsigned*>(keys + rights * list_length(p))),
        length(list_length(p)) {}
  __device__ void append(int right, Key key) const {
    keys[right * length + atomicAdd(&found[right], 1u)] = key;
  }
};

inline std::size_t peak_lists_bytes(const stage::Peaks::Problem& p) {
  return p.max_rights() * (list_length(p) * sizeof(Key) + sizeof(unsigned));
}

constexpr int max_sorted_peaks = 1024;

/// Enqueues the last step: the best max_peaks of each list become candidates, best first.
Status keep_best(const stage::Peaks::Problem& p, const Device& device, const LaunchOfRights& launch,
                 const PeakLists& lists, Candidate* candidates, std::uint32_t* counts);

}  // namespace xcorr::cuda
