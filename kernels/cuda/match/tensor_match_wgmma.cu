// SPDX-License-Identifier: LGPL-2.1-or-later
//
// tensor-match-wgmma: tensor-match by the instructions for four warps together of compute
// capability 9.0, see tensor_warpgroups.cuh. For templates up to 129 columns wide.
#include "cuda/match/tensor_match.cuh"

namespace xcorr::cuda {
namespace {

struct Name {
  static constexpr const char* name = "tensor_match_wgmma";
};
constexpr auto table = tensor_match_kernel::make_table<Name>(WarpgroupTilings());

}  // namespace

Family tensor_match_wgmma_family() { return Family(table); }

}  // namespace xcorr::cuda
