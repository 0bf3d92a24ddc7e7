// SPDX-License-Identifier: LGPL-2.1-or-later
//
// tensor-core-wgmma: tensor-core by the instructions for four warps together of compute capability
// 9.0, see tensor_warpgroups.cuh. For rights up to 129 columns wide.
#include "cuda/tensor/tensor_core.cuh"

namespace xcorr::cuda {
namespace {

struct Name {
  static constexpr const char* name = "tensor_core_wgmma";
};
constexpr auto table = tensor_core_kernel::make_table<Name>(WarpgroupTilings());

}  // namespace

Family tensor_core_wgmma_family() { return Family(table); }

}  // namespace xcorr::cuda
