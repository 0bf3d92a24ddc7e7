// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares in frames of 16 bits and of floats on the GPU: a block takes all steps of a pose.
// All sums are in double precision, since there may be much more brightness than contrast.
#include "cuda/common/launch.cuh"
#include "cuda/poses/align.cuh"

namespace xcorr::cuda {
namespace {

template <class T>
using Aligning = Align<T, double>;

template <class T>
__global__ void __launch_bounds__(Aligning<T>::threads)
    align_words(stage::Align::Problem p, stage::Align::Buffers b) {
  Aligning<T>::take_all_steps(p, b, [&](const AlignedPose&) { return p.pixels<T>(b.frame); });
}

Status launch(const stage::Align::Problem& p, const Device&, const stage::Align::Buffers& b,
              PlanState*) {
  return enqueue("align_words",
                 p.type == ElementType::u16 ? align_words<std::uint16_t> : align_words<float>,
                 dim3(grid_extent(p.count)), dim3(Aligning<float>::threads), 0, b.stream, p, b);
}

constexpr Variant<stage::Align> table[] = {
    {{"align_words", Backend::cuda, {Feature::u16, Feature::f32, Feature::contrast}},
     supports_all,
     launch},
};

}  // namespace

Family align_words_family() { return Family(table); }

}  // namespace xcorr::cuda
