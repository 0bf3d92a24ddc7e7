// SPDX-License-Identifier: LGPL-2.1-or-later
//
// split-row on warp-shuffle (paper section 4.2.1, thesis 3.4.2): the kernel of warp_shuffle.cuh, a
// pair of matrices and an overlap a thread, with the rows of an overlap cut into jobs for several
// warps, which add up their results. It wins over plain warp-shuffle while the overlaps alone leave
// the GPU idle: for a pair of matrices up to some 128 x 128. Which warp does which rows is in
// row_jobs.hpp.
//
// split_row.jRD: jobs of R rows; D is the distribution: t triangle (exactly the warps that have
// something to do), r rectangle (as many for each overlap as the highest needs), n none (a warp for
// all rows of its overlaps: what the preparations cost).
// wN: N warps a block, else 4.
#include "cuda/definition/warp_shuffle.cuh"

namespace xcorr::cuda {
namespace {

struct Name {
  static constexpr const char* name = "split_row";
};

using Single = WarpTile<1, 1>;
constexpr auto rectangle = Distribution::rectangle, triangle = Distribution::triangle;

constexpr Variant<stage::Correlate> table[] = {
    warp_shuffle_variant<Name, Single, 4, rectangle, 4>(),
    warp_shuffle_variant<Name, Single, 4, triangle, 2>(),
    warp_shuffle_variant<Name, Single, 4, triangle, 4>(),
    warp_shuffle_variant<Name, Single, 4, triangle, 8>(),
    warp_shuffle_variant<Name, Single, 8, triangle, 1>(),
};

}  // namespace

Family split_row_family() { return Family(table); }

}  // namespace xcorr::cuda
