// SPDX-License-Identifier: LGPL-2.1-or-later
//
// warp-shuffle (paper section 4.1, thesis 3.4.1): the kernel of warp_shuffle.cuh at its plainest, a
// pair of matrices and an overlap a thread. Three shuffles for each multiply-add bound it to a
// twelfth of the GPU's rate; it is what the families with larger tiles are measured against.
//
// warp_shuffle.wN: N warps a block.
#include "cuda/definition/warp_shuffle.cuh"

namespace xcorr::cuda {
namespace {

struct Name {
  static constexpr const char* name = "warp_shuffle";
};

using Single = WarpTile<1, 1>;

constexpr Variant<stage::Correlate> table[] = {
    warp_shuffle_variant<Name, Single, 4>(),
};

}  // namespace

Family warp_shuffle_family() { return Family(table); }

}  // namespace xcorr::cuda
