// SPDX-License-Identifier: LGPL-2.1-or-later
//
// tensor-core-fp16: tensor-core by the instructions for FP16, see tensor_halves.cuh, with the same
// exact sums. For GPUs whose tensor cores are slow with bytes; elsewhere tensor_core takes half the
// time.
#include "cuda/tensor/tensor_core.cuh"
#include "cuda/tensor/tensor_halves.cuh"

namespace xcorr::cuda {
namespace {

struct Name {
  static constexpr const char* name = "tensor_core_fp16";
};
constexpr auto table = tensor_core_kernel::make_table<Name>(HalfTilings());

}  // namespace

Family tensor_core_fp16_family() { return Family(table); }

}  // namespace xcorr::cuda
