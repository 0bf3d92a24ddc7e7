// SPDX-License-Identifier: LGPL-2.1-or-later
//
// tensor-match-sparse: tensor-match by the instructions for sparse matrices of compute
// capability 9.0, see tensor_sparse.cuh. For templates of 33 to 64 or 113 to 128
// columns, as tall as shared memory allows.
#include "cuda/match/tensor_match.cuh"
#include "cuda/tensor/tensor_sparse.cuh"

namespace xcorr::cuda {
namespace {

struct Name {
  static constexpr const char* name = "tensor_match_sparse";
};
constexpr auto table = tensor_match_kernel::make_table<Name>(SparseTilings());

}  // namespace

Family tensor_match_sparse_family() { return Family(table); }

}  // namespace xcorr::cuda
