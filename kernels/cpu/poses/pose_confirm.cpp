// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The second look at poses on the CPU, one task a pose.
#include "stages/poses/pose_confirm.hpp"

#include <vector>

#include "cpu/match/confirm.hpp"
#include "cpu/poses/warped.hpp"
#include "stages/common/rows.hpp"

namespace xcorr::cpu {
namespace {

template <class T>
float difference_at(const stage::PoseConfirm::Problem& p, const stage::PoseConfirm::Buffers& b,
                    const stage::PoseConfirm::Look& look) {
  const ConfirmedPart part(p.pyramid, p.frame, look.pose);
  const Size size = part.size();
  const std::int64_t area = size.area(), pitch = size.width * std::int64_t{sizeof(T)};
  std::vector<T> image(p.planes * area);
  std::vector<std::uint8_t> mask(area);
  std::vector<PlanePair<T>> planes;
  for (int plane = 0; plane < p.planes; ++plane) {
    const WarpedTemplate from(p.pyramid, row_of<T>(b.pixels, 0, 0) + plane * p.pyramid.area(),
                              b.mask, part.map.level, part.shift_u, part.shift_v);
    T* const pixels = image.data() + plane * area;
    warped(from, part.map, size.width, pixels, mask.data());
    const T* const window = row_of<T>(b.frame + plane * p.plane, p.pitch, part.top) + part.left;
    planes.emplace_back(Matrix<T>{reinterpret_cast<const std::byte*>(window), p.pitch, size},
                        Matrix<T>{reinterpret_cast<const std::byte*>(pixels), pitch, size},
                        mask.data(), info(p.method).centred);
  }
  return largest_difference<T>(planes, p.method, look.inverted);
}

Status launch(const stage::PoseConfirm::Problem& p, const Device&,
              const stage::PoseConfirm::Buffers& b, PlanState*) {
  const auto one = p.type == ElementType::u8    ? difference_at<std::uint8_t>
                   : p.type == ElementType::u16 ? difference_at<std::uint16_t>
                                                : difference_at<float>;
  parallel_for(0, *b.candidate_count * stage::PoseConfirm::poses, [&](int i) {
    const stage::PoseConfirm::Look look = stage::PoseConfirm::look_of(p, b, i);
    b.differences[i] = look.exists ? one(p, b, look) : 0;
  });
  return {};
}

bool supports(const stage::PoseConfirm::Problem& p, const Device&) {
  return stage::can_be_confirmed(p);
}

constexpr Variant<stage::PoseConfirm> table[] = {
    {{.name = "pose_confirm",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::mask, Feature::contrast,
                   Feature::planes}},
     {.supports = supports, .launch = launch}},
};

}  // namespace

Family pose_confirm_family() { return Family(table); }

}  // namespace xcorr::cpu
