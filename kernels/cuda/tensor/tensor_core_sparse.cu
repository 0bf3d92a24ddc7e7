// SPDX-License-Identifier: LGPL-2.1-or-later
//
// tensor-core-sparse: tensor-core by the instructions for sparse matrices of compute
// capability 9.0, see tensor_sparse.cuh. For rights of 33 to 64 or 113 to 128
// columns, as tall as shared memory allows.
#include "cuda/tensor/tensor_core.cuh"
#include "cuda/tensor/tensor_sparse.cuh"

namespace xcorr::cuda {
namespace {

struct Name {
  static constexpr const char* name = "tensor_core_sparse";
};
constexpr auto table = tensor_core_kernel::make_table<Name>(SparseTilings());

}  // namespace

Family tensor_core_sparse_family() { return Family(table); }

}  // namespace xcorr::cuda
