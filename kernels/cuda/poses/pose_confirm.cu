// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The second look at poses, a block a pose: it turns the template where it needs its pixels, so
// images of any size need no memory.
#include "stages/poses/pose_confirm.hpp"

#include "cuda/common/launch.cuh"
#include "cuda/match/confirm.cuh"
#include "stages/common/rows.hpp"

namespace xcorr::cuda {
namespace {

using second_look::threads;

template <class In>
__device__ WarpedTemplate<In> template_of(const stage::PoseConfirm::Problem& p,
                                          const stage::PoseConfirm::Buffers& b,
                                          const ConfirmedPart& part, int plane) {
  return {p.pyramid,    row_of<In>(b.pixels, 0, 0) + plane * p.pyramid.area(),
          b.mask,       part.map.level,
          part.shift_u, part.shift_v};
}

/// A part of the frame, and the template as it is turned there.
template <class In>
struct Pair {
  const stage::PoseConfirm::Problem& p;
  const stage::PoseConfirm::Buffers& b;
  const ConfirmedPart& part;
  const WarpedPlaces& places;
  int planes;
  Size size;

  template <class Visit>
  __device__ void at(int plane, int x, int y, Visit visit) const {
    const WarpedPixel<In> pixel(
        template_of<In>(p, b, part, plane), part.map.log2_samples, places.u, places.v, x, y,
        [](int f) { return CubicWeights(f); }, ReadEach());
    if (!pixel.counts) return;
    const In* const row = row_of<In>(b.frame + plane * p.plane, p.pitch, part.top + y);
    visit(static_cast<double>(row[part.left + x]), static_cast<double>(pixel.value));
  }
};

template <class In>
__global__ void __launch_bounds__(threads, 1)
    confirm_poses(stage::PoseConfirm::Problem p, stage::PoseConfirm::Buffers b) {
  __shared__ ConfirmedPart part;
  __shared__ WarpedPlaces places;
  const int count = *b.candidate_count * stage::PoseConfirm::poses;
  for (int i = blockIdx.x; i < count; i += gridDim.x) {
    const stage::PoseConfirm::Look look = stage::PoseConfirm::look_of(p, b, i);
    double worst = 0;
    if (look.exists) {
      if (threadIdx.x == 0) {
        part = ConfirmedPart(p.pyramid, p.frame, look.pose);
        places = WarpedPlaces(template_of<In>(p, b, part, 0), part.map);
      }
      __syncthreads();
      worst = second_look::worst_square(Pair<In>{p, b, part, places, p.planes, part.size()},
                                        p.method, look.inverted);
    }
    if (threadIdx.x == 0) b.differences[i] = static_cast<float>(sqrt(worst));
  }
}

Status launch(const stage::PoseConfirm::Problem& p, const Device&,
              const stage::PoseConfirm::Buffers& b, PlanState*) {
  const auto kernel = p.type == ElementType::u8    ? confirm_poses<std::uint8_t>
                      : p.type == ElementType::u16 ? confirm_poses<std::uint16_t>
                                                   : confirm_poses<float>;
  return enqueue("pose_confirm", kernel, dim3(grid_extent(p.count * stage::PoseConfirm::poses)),
                 dim3(threads), 0, b.stream, p, b);
}

bool supports(const stage::PoseConfirm::Problem& p, const Device&) {
  return stage::can_be_confirmed(p);
}

constexpr Variant<stage::PoseConfirm> table[] = {
    {{.name = "pose_confirm",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::mask, Feature::contrast,
                   Feature::planes}},
     {.supports = supports, .launch = launch}},
};

}  // namespace

Family pose_confirm_family() { return Family(table); }

}  // namespace xcorr::cuda
