// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares in frames of 16 bits and of floats on the GPU: a cluster takes all steps of a pose.
// All sums are in double precision, since there may be much more brightness than contrast.
#include "cuda/poses/align_system.cuh"

namespace xcorr::cuda {
namespace {

template <class T>
using Aligning = Align<T, double>;

template <class T>
__global__ void __launch_bounds__(Aligning<T>::threads)
    align_words(stage::Align::Problem p, stage::Align::Buffers b, const AlignSystem* system) {
  wait_for_previous();
  Aligning<T>::take_all_steps(p, b, system,
                              [&](const AlignedPose&) { return p.pixels<T>(b.frame); });
}

template <class T>
Status launch_as(const stage::Align::Problem& p, const Device& device,
                 const stage::Align::Buffers& b, PlanState* state) {
  return enqueue_clusters(device, "align_words", align_words<T>, Aligning<T>::cluster(p.size),
                          grid_extent(p.count), dim3(Aligning<T>::threads), 0, b.stream, p, b,
                          static_cast<const TemplateSystem<Aligning<T>>*>(state)->system());
}

Status launch(const stage::Align::Problem& p, const Device& device, const stage::Align::Buffers& b,
              PlanState* state) {
  return p.type == ElementType::u16 ? launch_as<std::uint16_t>(p, device, b, state)
                                    : launch_as<float>(p, device, b, state);
}

Result<std::unique_ptr<PlanState>> plan(const stage::Align::Problem& p, const Device& device) {
  return p.type == ElementType::u16 ? TemplateSystem<Aligning<std::uint16_t>>::make(p, device)
                                    : TemplateSystem<Aligning<float>>::make(p, device);
}

constexpr Variant<stage::Align> table[] = {
    {{"align_words", Backend::cuda, {Feature::u16, Feature::f32, Feature::contrast}},
     supports_all,
     launch,
     nullptr,
     plan},
};

}  // namespace

Family align_words_family() { return Family(table); }

}  // namespace xcorr::cuda
