// SPDX-License-Identifier: LGPL-2.1-or-later
//
// grouped-overlap (paper section 4.2.2, thesis 3.4.4 and 3.4.6): the kernel of warp_shuffle.cuh
// with several overlaps per thread, one below the other in the output. They share the left's rows;
// and when the thread also takes several rows of the left at a time, the right's. It is the paper's
// best for a pair of large matrices, and for matrices so large that pairs alone fill the GPU. For
// small matrices the loss by having fewer jobs and by the steps at both ends, where some of a
// thread's overlaps have no row, exceeds the gain.
//
// grouped_overlap.oOlL: O overlaps, L rows of the left at a time; wN: N warps per block, else 4.
// With l1 only rows of the right are grouped.
#include "cuda/definition/warp_shuffle.cuh"

namespace xcorr::cuda {
namespace {

struct Name {
  static constexpr const char* name = "grouped_overlap";
};

constexpr Variant<stage::Correlate> table[] = {
    warp_shuffle_variant<Name, ShuffleTuning{.overlaps = 4, .rows = 1}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.overlaps = 2, .rows = 8}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.overlaps = 3, .rows = 3}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.overlaps = 4, .rows = 4}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.overlaps = 4, .rows = 4, .warps = 8}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.overlaps = 4, .rows = 8}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.overlaps = 8, .rows = 8}>(),
};

}  // namespace

Family grouped_overlap_family() { return Family(table); }

}  // namespace xcorr::cuda
