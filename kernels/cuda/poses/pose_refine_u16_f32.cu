// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares in frames of 16 bits and of floats on the GPU: a cluster takes all steps of a pose.
// All sums are in double precision, since there may be much more brightness than contrast.
#include "cuda/poses/pose_refine_system.cuh"

namespace xcorr::cuda {
namespace {

template <class T>
using PoseRefining = PoseRefine<T, double>;

template <class T>
__global__ void __launch_bounds__(PoseRefining<T>::threads)
    pose_refine_u16_f32(stage::PoseRefine::Problem p, stage::PoseRefine::Buffers b,
                        const PoseRefineSystemOf<1>* system) {
  wait_for_previous();
  PoseRefining<T>::take_all_steps(p, b, system, [&](const RefinedPose&) {
    return PoseRefinePlanes<T>{p.pixels<T>(b.frame), p.plane};
  });
}

template <class T>
Status launch_as(const stage::PoseRefine::Problem& p, const Device& device,
                 const stage::PoseRefine::Buffers& b, PlanState* state) {
  return enqueue_clusters(device, "pose_refine_u16_f32", pose_refine_u16_f32<T>,
                          PoseRefining<T>::cluster(p.size), grid_extent(p.count),
                          dim3(PoseRefining<T>::threads), 0, b.stream, p, b,
                          static_cast<const TemplateSystem<PoseRefining<T>>*>(state)->system());
}

Status launch(const stage::PoseRefine::Problem& p, const Device& device,
              const stage::PoseRefine::Buffers& b, PlanState* state) {
  return p.type == ElementType::u16 ? launch_as<std::uint16_t>(p, device, b, state)
                                    : launch_as<float>(p, device, b, state);
}

Result<std::unique_ptr<PlanState>> plan(const stage::PoseRefine::Problem& p, const Device& device) {
  return p.type == ElementType::u16 ? TemplateSystem<PoseRefining<std::uint16_t>>::make(p, device)
                                    : TemplateSystem<PoseRefining<float>>::make(p, device);
}

constexpr Variant<stage::PoseRefine> table[] = {
    {{.name = "pose_refine_u16_f32",
      .backend = Backend::cuda,
      .features = {Feature::u16, Feature::f32, Feature::contrast}},
     {.launch = launch, .plan = plan}},
};

}  // namespace

Family pose_refine_u16_f32_family() { return Family(table); }

}  // namespace xcorr::cuda
