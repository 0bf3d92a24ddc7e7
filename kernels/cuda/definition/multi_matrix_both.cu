// SPDX-License-Identifier: LGPL-2.1-or-later
//
// multi-matrix-both (paper section 4.3.2, thesis 3.4.5): the kernel of warp_shuffle.cuh with
// several lefts and several rights per thread, each left paired with each right. It is for n-to-m,
// the only form in which both sides can be shared; with grouped overlaps, too, it has the most
// multiply-adds per shuffle of all warp-shuffle families.
//
// multi_matrix_both.lLrR[.jJD | .oOlL]: L lefts, R rights; jobs as in split_row.cu; overlaps and
// left rows as in grouped_overlap.cu; wN: N warps per block, else 4.
#include "cuda/definition/warp_shuffle.cuh"

namespace xcorr::cuda {
namespace {

struct Name {
  static constexpr const char* name = "multi_matrix_both";
};

constexpr auto triangle = Distribution::triangle;

constexpr Variant<stage::Correlate> table[] = {
    warp_shuffle_variant<Name, ShuffleTuning{.lefts = 4, .rights = 4}>(),
    warp_shuffle_variant<
        Name, ShuffleTuning{.lefts = 2, .rights = 4, .jobs = triangle, .rows_per_job = 4}>(),
    warp_shuffle_variant<
        Name, ShuffleTuning{.lefts = 4, .rights = 4, .jobs = triangle, .rows_per_job = 2}>(),
    warp_shuffle_variant<
        Name, ShuffleTuning{.lefts = 4, .rights = 4, .jobs = triangle, .rows_per_job = 8}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.lefts = 2, .rights = 2, .overlaps = 2, .rows = 2}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.lefts = 2, .rights = 4, .overlaps = 4, .rows = 4}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.lefts = 4, .rights = 4, .overlaps = 4, .rows = 4}>(),
    warp_shuffle_variant<
        Name, ShuffleTuning{.lefts = 4, .rights = 4, .overlaps = 4, .rows = 4, .warps = 8}>(),
};

}  // namespace

Family multi_matrix_both_family() { return Family(table); }

}  // namespace xcorr::cuda
