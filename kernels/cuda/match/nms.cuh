// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Non-maximum suppression: the best of a list is a peak and suppresses what lies near it, then the
// best of what is left, and so on. A block does it for a template. A key of the list may stand for
// several shifts, of which it is the best; then what is left of them is asked for when it matters.
#pragma once

#include "cuda/match/peak_list.cuh"

namespace xcorr::cuda {

constexpr int nms_threads = 512, nms_warps = nms_threads / 32;

/// The most peaks of a template.
constexpr int max_nms_peaks = 1024;

/// The peaks so far.
struct Taken {
  Key* keys;  ///< in shared memory
  unsigned count;

  __device__ bool suppress(const stage::Peaks::Problem& p, Key key) const {
    for (unsigned i = 0; i < count; ++i)
      if (Box(p, keys[i]).has(key, p.correlate.shifts.width)) return true;
    return false;
  }
  /// The same, by all threads of the block, which return the same.
  __device__ bool suppress_by_block(const stage::Peaks::Problem& p, Key key) const {
    bool found = false;
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x)
      found |= Box(p, keys[i]).has(key, p.correlate.shifts.width);
    return __syncthreads_or(found);
  }
};

/// The best of the threads' ones, for all threads of the block.
__device__ inline KeyAt best_of_block(KeyAt mine) {
  __shared__ KeyAt of_warps[nms_warps];
  mine = best_of_warp(mine);
  __syncthreads();  // all have read the ones before
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  mine = of_warps[0];
  for (int i = 1; i < nms_warps; ++i) mine.take_better(of_warps[i]);
  return mine;
}

/// Keys that stand for one shift each.
struct SingleShifts {
  /// Whether a peak suppresses all that a key stands for.
  __device__ bool covers(const stage::Peaks::Problem& p, const Box& box, Key key) const {
    return box.has(key, p.correlate.shifts.width);
  }
  /// What is left of what a key stands for, called by the whole block: all return the same; 0 for
  /// nothing.
  __device__ Key left_of(int, Key, const Taken&) const { return 0; }
};

/// A thread's part of a list: every nms_threads-th of its keys. Peaks are held against them only
/// when its best is gone, all that were taken since then at once.
template <class Shifts>
class OwnKeys {
 public:
  __device__ OwnKeys(const stage::Peaks::Problem& p, const Shifts& shifts, Key* list,
                     unsigned total)
      : p_(p), shifts_(shifts), list_(list), total_(total) {}
  __device__ bool has(unsigned at) const { return at % nms_threads == threadIdx.x; }

  /// The best of them.
  __device__ KeyAt best(const Taken& taken) {
    if (!is_known_) find_best(taken);
    is_known_ = true;
    return best_;
  }
  /// The best of all, which was this thread's, is replaced.
  __device__ void replace(unsigned at, Key key) {
    list_[at] = key;
    is_known_ = false;
  }
  /// After the last one of the peaks was taken.
  __device__ void apply_last(const Taken& taken) {
    if (best_.key && shifts_.covers(p_, Box(p_, taken.keys[taken.count - 1]), best_.key))
      is_known_ = false;
  }

 private:
  __device__ void find_best(const Taken& taken) {
    best_ = {0, 0};
    for (unsigned i = threadIdx.x; i < total_; i += nms_threads) {
      const Key key = list_[i];
      if (!key) continue;
      bool is_covered = false;
      for (unsigned k = applied_; k < taken.count; ++k)
        is_covered |= shifts_.covers(p_, Box(p_, taken.keys[k]), key);
      if (is_covered)
        list_[i] = 0;
      else
        best_.take_better({key, i});
    }
    applied_ = taken.count;
  }

  const stage::Peaks::Problem& p_;
  const Shifts& shifts_;
  Key* list_;
  unsigned total_, applied_ = 0;
  KeyAt best_ = {0, 0};
  bool is_known_ = false;
};

template <class Shifts>
__global__ void __launch_bounds__(nms_threads, 1)
    take_peaks(stage::Peaks::Problem p, bool minimum, int first_right, PeakLists lists,
               Shifts shifts, Candidate* candidates, std::uint32_t* counts, const int* asked) {
  __shared__ Key keys[max_nms_peaks];
  Taken taken{keys, 0};
  wait_for_previous();
  if (asked && !*asked) return;
  const int r = blockIdx.x;
  OwnKeys<Shifts> own(p, shifts, lists.keys + r * lists.length, lists.found[r]);
  while (taken.count < static_cast<unsigned>(p.max_peaks)) {
    const KeyAt best = best_of_block(own.best(taken));
    if (!best.key) break;
    const bool hidden = taken.suppress_by_block(p, best.key);
    const Key left = hidden ? shifts.left_of(r, best.key, taken) : 0;
    if (threadIdx.x == 0 && !hidden) keys[taken.count] = best.key;
    taken.count += hidden ? 0 : 1;
    __syncthreads();
    if (own.has(best.at))
      own.replace(best.at, left);
    else if (!hidden)
      own.apply_last(taken);
  }
  const std::int64_t place = std::int64_t{first_right + r} * p.max_peaks;
  for (unsigned i = threadIdx.x; i < taken.count; i += nms_threads)
    candidates[place + i] = candidate_of(keys[i], minimum, p.correlate.shifts.width);
  if (threadIdx.x == 0) counts[first_right + r] = taken.count;
}

/// Enqueues the last step: the lists' peaks become candidates, best first. `asked`, on the device:
/// whether there is anything to do; null: there is.
template <class Shifts>
Status enqueue_take_peaks(const stage::Peaks::Problem& p, const Device& device,
                          const LaunchOfRights& launch, const PeakLists& lists,
                          const Shifts& shifts, Candidate* candidates, std::uint32_t* counts,
                          const int* asked = nullptr) {
  return enqueue_early(device, "take_peaks", take_peaks<Shifts>, launch.right_count, nms_threads, 0,
                       launch.stream, p, info(p.method).minimum, launch.first_right, lists, shifts,
                       candidates, counts, asked);
}

}  // namespace xcorr::cuda
