// SPDX-License-Identifier: LGPL-2.1-or-later
//
// tensor-match: from bytes to candidates by matrix instructions, see tensor_match.cuh.
#include "cuda/match/tensor_match.cuh"

namespace xcorr::cuda {
namespace {

constexpr const char* names[] = XCORR_WARP_TILING_NAMES("tensor_match");
constexpr auto table = tensor_match_kernel::make_table(names, WarpTilings());

}  // namespace

Family tensor_match_family() { return table; }

}  // namespace xcorr::cuda
