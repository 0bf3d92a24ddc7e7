// SPDX-License-Identifier: LGPL-2.1-or-later
//
// multi-matrix-right (paper section 4.3.1, thesis 3.4.3): the kernel of warp_shuffle.cuh with
// several rights per thread, which share the left values that the warp shuffles. It is for one left
// with many rights (one-to-many, n-to-mn). Split into jobs of some rows it is the paper's best for
// small matrices, with grouped overlaps for large ones or many rights.
//
// multi_matrix_right.rR[.jJD | .oOlL]: R rights; jobs as in split_row.cu; overlaps and left rows as
// in grouped_overlap.cu; wN: N warps per block, else 4.
#include "cuda/definition/warp_shuffle.cuh"

namespace xcorr::cuda {
namespace {

struct Name {
  static constexpr const char* name = "multi_matrix_right";
};

constexpr auto triangle = Distribution::triangle;

constexpr Variant<stage::Correlate> table[] = {
    warp_shuffle_variant<Name, ShuffleTuning{.rights = 4}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.rights = 2, .jobs = triangle, .rows_per_job = 1}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.rights = 4, .jobs = triangle, .rows_per_job = 1}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.rights = 4, .jobs = triangle, .rows_per_job = 2}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.rights = 8, .jobs = triangle, .rows_per_job = 1}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.rights = 8, .jobs = triangle, .rows_per_job = 2}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.rights = 8, .jobs = triangle, .rows_per_job = 4}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.rights = 8, .overlaps = 2, .rows = 2}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.rights = 2, .overlaps = 4, .rows = 4}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.rights = 4, .overlaps = 4, .rows = 4}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.rights = 4, .overlaps = 4, .rows = 4, .warps = 8}>(),
};

}  // namespace

Family multi_matrix_right_family() { return Family(table); }

}  // namespace xcorr::cuda
