// SPDX-License-Identifier: LGPL-2.1-or-later
//
// tensor-core: exact sums of products of bytes by matrix instructions, see tensor_core.cuh. It is
// the fastest way for 8-bit matrices except the smallest ones, unless an FFT (past a hundred pixels
// a side) or tensor_core_wgmma (where available) is faster.
#include "cuda/tensor/tensor_core.cuh"

namespace xcorr::cuda {
namespace {

struct Name {
  static constexpr const char* name = "tensor_core";
};
constexpr auto table = tensor_core_kernel::make_table<Name>(WarpTilings());

}  // namespace

Family tensor_core_family() { return Family(table); }

}  // namespace xcorr::cuda
