// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/poses/cutter.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "select/select.hpp"

namespace xcorr {
namespace {

/// The pose undone: from a patch of that size to the frame, in its pixels.
WarpMap map_of(const Pose& pose, Size size) {
  // Samples no more than about a pixel apart, as in PoseSteps::map().
  constexpr double farthest = 1.32;
  constexpr int most_log2_samples = 4;
  WarpMap map{};
  map.width = size.width;
  map.height = size.height;
  while (map.log2_samples < most_log2_samples &&
         pose.scale > std::ldexp(farthest, map.log2_samples))
    ++map.log2_samples;
  const double half_sample = std::ldexp(pose.scale, 23 - map.log2_samples);
  const double angle = pose.angle * std::numbers::pi / 180;
  map.u_by_x = map.v_by_y = static_cast<std::int32_t>(std::lround(half_sample * std::cos(angle)));
  map.u_by_y = static_cast<std::int32_t>(std::lround(half_sample * std::sin(angle)));
  map.v_by_x = -map.u_by_y;
  return map;
}

/// The whole pixels that are read along an axis, with those that are mixed. `reach`: of samples on
/// either side of the centre.
struct Span {
  int begin, end;

  Span(double centre, double reach, int length)
      : begin(std::max(0, static_cast<int>(std::floor(centre - reach)) - 1)),
        end(std::min(length, static_cast<int>(std::floor(centre + reach)) + 4)) {}
  double middle() const { return 0.5 * (begin + end - 1); }
};

/// Whether all samples lie inside of the part: the farthest ones do.
bool is_inside(const WarpMap& map, Size part, std::int64_t centre_u, std::int64_t centre_v) {
  const std::int64_t across = (std::int64_t{map.width} << map.log2_samples) - 1;
  const std::int64_t down = (std::int64_t{map.height} << map.log2_samples) - 1;
  for (const std::int64_t x : {-across, across})
    for (const std::int64_t y : {-down, down})
      if (!WarpedPlace::of(map.u_by_x * x + map.u_by_y * y + centre_u).inside(part.width) ||
          !WarpedPlace::of(map.v_by_x * x + map.v_by_y * y + centre_v).inside(part.height))
        return false;
  return true;
}

}  // namespace

Result<PatchCutter> PatchCutter::make(const Device& device, ElementType type, Size size,
                                      int planes) {
  PatchCutter made;
  made.device_ = device;
  made.type_ = type;
  made.size_ = size;
  made.planes_ = planes;
  const auto pixels = static_cast<std::size_t>(size.area());
  if (Status s = made.map_.provide(device.backend, sizeof(WarpMap)); !s.ok()) return s;
  if (Status s = made.patch_.provide(device.backend, planes * pixels * size_of(type)); !s.ok())
    return s;
  if (Status s = made.mask_.provide(device.backend, pixels); !s.ok()) return s;
  if (Status s = made.sums_.provide(device.backend, sizeof(WarpedTemplateSums)); !s.ok()) return s;
  return made;
}

Status PatchCutter::provide(Size part) {
  if (part.width <= room_.width && part.height <= room_.height) return {};
  const Size room{std::max(part.width, room_.width), std::max(part.height, room_.height)};
  auto reader = FrameReader::make(device_, type_, room, true, planes_);
  if (!reader.ok()) return reader.status();
  if (Status s = part_.provide(device_.backend, TemplatePyramid{room}.extent(type_).bytes); !s.ok())
    return s;
  reader_ = std::move(reader.value());
  room_ = room;
  return {};
}

Result<MatrixView> PatchCutter::cut(const MatrixView& frame, const Pose& pose, Stream stream) {
  const auto bad = [](const char* what) { return Status(Code::invalid_argument, what); };
  if (!std::isfinite(pose.center_x) || !std::isfinite(pose.center_y) || !std::isfinite(pose.angle))
    return bad("the pose is not finite");
  if (!(pose.scale >= 0.1 && pose.scale <= 10)) return bad("the scale must be in [0.1, 10]");
  const Status outside = bad("the template at that pose is not wholly inside the frame");
  if (!(pose.center_x >= 0 && pose.center_x < frame.size.width && pose.center_y >= 0 &&
        pose.center_y < frame.size.height))
    return outside;

  const WarpMap map = map_of(pose, size_);
  const double along = std::abs(map.u_by_x), across = std::abs(map.u_by_y);
  const double columns = (size_.width << map.log2_samples) - 1,
               rows = (size_.height << map.log2_samples) - 1;
  const Span x(pose.center_x, std::ldexp(along * columns + across * rows, -24), frame.size.width);
  const Span y(pose.center_y, std::ldexp(across * columns + along * rows, -24), frame.size.height);
  const Rect part{x.begin, y.begin, x.end - x.begin, y.end - y.begin};
  const auto fixed = [](double pixels) { return std::llround(std::ldexp(pixels, 24)); };
  const stage::WarpTemplate::Problem problem{{part.size()},
                                             {},
                                             size_,
                                             1,
                                             fixed(pose.center_x - x.middle()),
                                             fixed(pose.center_y - y.middle()),
                                             type_};
  const WarpedTemplate<std::uint8_t> centred(problem.pyramid, nullptr, nullptr, 0, problem.shift_u,
                                             problem.shift_v);
  if (!is_inside(map, part.size(), centred.centre_u, centred.centre_v)) return outside;

  if (Status s = provide(part.size()); !s.ok()) return s;
  const Variant<stage::BuildPyramid>* build_pyramid = nullptr;
  const Variant<stage::WarpTemplate>* warp_template = nullptr;
  if (Status s = choose_into(build_pyramid, {problem.pyramid, 0, type_}, device_); !s.ok())
    return s;
  if (Status s = choose_into(warp_template, problem, device_); !s.ok()) return s;
  const Runtime& device = runtime(device_.backend);
  const auto read = reader_.read(frame, part, stream);
  if (!read.ok()) return read.status();
  if (Status s = device.copy(bytes_copy(map_.data(), &map, sizeof map), Memory::host,
                             Memory::device, stream);
      !s.ok())
    return s;
  const std::ptrdiff_t row = size_.width * element();
  MatrixView patch{patch_.data(), type_, size_, row, Memory::device};
  for (int plane = 0; plane < planes_; ++plane) {
    const Rows& rows = read.value();
    if (Status s = build_pyramid->launch(
            {problem.pyramid, rows.pitch, type_}, device_,
            {{nullptr, stream}, rows.data + plane * rows.plane, part_.data()}, nullptr);
        !s.ok())
      return s;
    auto* const to = patch_.as<std::uint8_t>() + plane * row * size_.height;
    if (Status s = warp_template->launch(problem, device_,
                                         {{nullptr, stream},
                                          part_.data(),
                                          nullptr,
                                          map_.as<WarpMap>(),
                                          to,
                                          mask_.as<std::uint8_t>(),
                                          sums_.as<WarpedTemplateSums>()},
                                         nullptr);
        !s.ok())
      return s;
    if (planes_ > 1) patch.color[plane] = {to, row};
  }
  return patch;
}

}  // namespace xcorr
