// SPDX-License-Identifier: LGPL-2.1-or-later
//
// split-row on warp-shuffle (paper section 4.2.1, thesis 3.4.2): the kernel of warp_shuffle.cuh,
// one overlap of one pair of matrices per thread, with the rows of an overlap split into jobs for
// several warps, which add their results. It beats plain warp-shuffle while the overlaps alone
// leave the GPU idle: for a pair of matrices up to about 128 x 128. row_jobs.hpp assigns rows to
// warps.
//
// split_row.jRD: jobs of R rows; D is the distribution: t triangle (exactly the warps that have
// work), r rectangle (as many for each overlap as the highest needs). wN: N warps per block,
// else 4.
#include "cuda/definition/warp_shuffle.cuh"

namespace xcorr::cuda {
namespace {

struct Name {
  static constexpr const char* name = "split_row";
};

constexpr auto rectangle = Distribution::rectangle, triangle = Distribution::triangle;

constexpr Variant<stage::Correlate> table[] = {
    warp_shuffle_variant<Name, ShuffleTuning{.jobs = rectangle, .rows_per_job = 4}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.jobs = triangle, .rows_per_job = 2}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.jobs = triangle, .rows_per_job = 4}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.jobs = triangle, .rows_per_job = 8}>(),
    warp_shuffle_variant<Name, ShuffleTuning{.jobs = triangle, .rows_per_job = 1, .warps = 8}>(),
};

}  // namespace

Family split_row_family() { return Family(table); }

}  // namespace xcorr::cuda
