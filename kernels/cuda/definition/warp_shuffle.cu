// SPDX-License-Identifier: LGPL-2.1-or-later
//
// warp-shuffle (paper section 4.1, thesis 3.4.1): the kernel of warp_shuffle.cuh in its plainest
// form, one overlap of one pair of matrices per thread. Three shuffles for each multiply-add bound
// it to a twelfth of the GPU's rate; it is the baseline for the families with larger tiles.
//
// warp_shuffle.wN: N warps per block.
#include "cuda/definition/warp_shuffle.cuh"

namespace xcorr::cuda {
namespace {

struct Name {
  static constexpr const char* name = "warp_shuffle";
};

constexpr Variant<stage::Correlate> table[] = {
    warp_shuffle_variant<Name, ShuffleTuning{.warps = 4}>(),
};

}  // namespace

Family warp_shuffle_family() { return Family(table); }

}  // namespace xcorr::cuda
