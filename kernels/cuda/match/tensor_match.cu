// SPDX-License-Identifier: LGPL-2.1-or-later
//
// tensor-match: from 8-bit pixels to candidates by matrix instructions, see tensor_match.cuh.
#include "cuda/match/tensor_match.cuh"

namespace xcorr::cuda {
namespace {

struct Name {
  static constexpr const char* name = "tensor_match";
};
constexpr auto table = tensor_match_kernel::make_table<Name>(WarpTilings());

}  // namespace

Family tensor_match_family() { return Family(table); }

}  // namespace xcorr::cuda
