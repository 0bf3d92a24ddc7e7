// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A template on the device, and how images are made of it.
#include "match/poses/template.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <tuple>

#include "match/weights.hpp"
#include "select/select.hpp"

namespace xcorr {
namespace {

/// Of the circle round the centre that holds all pixels that count; 0 where all do.
int diameter_of(Size size, const std::vector<std::uint8_t>& mask) {
  double farthest = 0;  // twice
  for (int y = 0; y < size.height && !mask.empty(); ++y)
    for (int x = 0; x < size.width; ++x)
      if (mask[std::int64_t{y} * size.width + x])
        farthest = std::max(farthest, std::hypot(2 * x - size.width + 1, 2 * y - size.height + 1));
  return mask.empty() ? 0 : static_cast<int>(std::ceil(farthest)) + 1;
}

/// Whether what counts is all within some distance of the centre.
bool is_disc(const BankTemplate& t) {
  if (t.mask.empty()) return false;
  std::int64_t farthest = 0, nearest_outside = INT64_MAX;
  for (int y = 0; y < t.size.height; ++y)
    for (int x = 0; x < t.size.width; ++x) {
      const std::int64_t u = 2 * x - t.size.width + 1, v = 2 * y - t.size.height + 1;
      if (t.mask[std::int64_t{y} * t.size.width + x])
        farthest = std::max(farthest, u * u + v * v);
      else
        nearest_outside = std::min(nearest_outside, u * u + v * v);
    }
  return farthest < nearest_outside;
}

/// The levels of a mask: a pixel counts if all four do, as often as they do. What is round a level
/// does not count.
std::vector<std::uint8_t> levels_of(const std::vector<std::uint8_t>& mask,
                                    const TemplatePyramid& pyramid) {
  std::vector<std::uint8_t> levels(pyramid.area());
  const auto row_at = [&](int level, int y) {
    return levels.data() + pyramid.first_of(level) + std::int64_t{y} * pyramid.pitch_of(level);
  };
  const auto [width, height] = pyramid.size;
  for (int y = 0; y < height; ++y) std::copy_n(&mask[std::int64_t{y} * width], width, row_at(0, y));
  for (int level = 1; level <= pyramid.halvings; ++level)
    for (int y = 0; y < pyramid.size_of(level).height; ++y)
      for (int x = 0; x < pyramid.size_of(level).width; ++x) {
        const std::uint8_t *const upper = row_at(level - 1, 2 * y) + 2 * x, *const lower =
                                                                                upper +
                                                                                pyramid.pitch_of(
                                                                                    level - 1);
        const int four[] = {upper[0], upper[1], lower[0], lower[1]};
        const int rounded = (std::accumulate(four, four + 4, 0) + 2) / 4;
        row_at(level, y)[x] =
            std::ranges::count(four, 0) > 0 ? 0 : static_cast<std::uint8_t>(rounded);
      }
  return levels;
}

Size most_of(std::span<const WarpMap> maps) {
  Size most;
  for (const WarpMap& map : maps)
    most = {std::max(most.width, map.width), std::max(most.height, map.height)};
  return most;
}

}  // namespace

Size extent_of(Size size, const std::vector<std::uint8_t>& mask) {
  if (mask.empty()) return size;
  Size extent{1, 1};
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      if (mask[std::int64_t{y} * size.width + x])
        extent = {std::max(extent.width, std::abs(2 * x - size.width + 1) + 1),
                  std::max(extent.height, std::abs(2 * y - size.height + 1) + 1)};
  return extent;
}

TemplatePyramid pyramid_of(Size size) {
  constexpr int most = 8;
  int halvings = 0;
  while (halvings < most &&
         std::min(size.width, size.height) >> (halvings + 1) >= least_template_side)
    ++halvings;
  return {size, halvings};
}

Result<PoseTemplate> PoseTemplate::make(const Device& device, const BankTemplate& t, int planes,
                                        const WarpEdges& edges, const PoseRange& range, Size frame,
                                        Stream stream) {
  PoseTemplate made;
  made.device_ = device;
  made.type_ = t.type;
  made.planes_ = planes;
  if (edges.made) made.edge_rule_ = edges.rule;
  made.edge_sources_ = edges.sources;
  made.pyramid_ = pyramid_of(t.size);
  made.extent_ = extent_of(t.size, t.mask);
  made.round_ = is_disc(t);
  made.diameter_ = made.round_ ? 0 : diameter_of(t.size, t.mask);
  if (edges.made) made.leave_out_rim();
  const std::vector<std::uint8_t> mask = t.weights.empty() ? t.mask : heavy_ones(t.weights);
  made.masking_ = masking_of(mask, t.size);
  made.weighting_ = masking_of(t.weights, t.size);
  if (Status s = choose_into(made.build_pyramid_, {made.pyramid_, 0, t.type}, device); !s.ok())
    return s;
  if (Status s = choose_into(made.warp_template_,
                             {made.pyramid_, made.masking_, t.size, 1, 0, 0, t.type, made.edges(0)},
                             device);
      !s.ok())
    return s;
  if (Status s = choose_into(made.smooth_, {t.size, t.type}, device); !s.ok()) return s;
  if (Status s = made.allocate(mask, t.weights, stream); !s.ok()) return s;
  if (t.live) made.live_ = t.pixels;
  // What blends into it may still be enqueued on a stream of the caller's.
  if (Status s = t.pixels->wait(); !s.ok()) return s;
  made.version_ = t.pixels->version();
  if (Status s = made.load(t.pixels->view(), stream); !s.ok()) return s;
  if (Status s = made.choose_levels(range, frame, stream); !s.ok()) return s;
  return made;
}

WarpEdges PoseTemplate::edges(int level) const {
  if (!edge_rule_) return {};
  return {true, *edge_rule_, std::max(level, 0), 0, edge_sources_};
}

/// Of what counts: there are no edges there.
void PoseTemplate::leave_out_rim() {
  const auto inner = [](int length) { return std::max(length - 2 * edge_radius, 1); };
  extent_ = {inner(extent_.width), inner(extent_.height)};
  if (diameter_ > 0) diameter_ = inner(diameter_);
}

Status PoseTemplate::allocate(const std::vector<std::uint8_t>& mask,
                              const std::vector<std::uint8_t>& weights, Stream stream) {
  const Backend backend = device_.backend;
  counts_ = inset_mask(mask, size(), edge_rule_ ? edge_radius : pose_refine_inset);
  aligned_pixels_ = std::ssize(counts_) - std::ranges::count(counts_, 0);
  for (auto& [bytes, block] : {std::pair(&mask, &mask_), std::pair(&weights, &weights_)}) {
    if (bytes->empty()) continue;
    const std::vector<std::uint8_t> levels = levels_of(*bytes, pyramid_);
    if (Status s = upload(backend, *block, levels.data(), levels.size(), stream); !s.ok()) return s;
    if (Status s = runtime(backend).wait(stream); !s.ok()) return s;  // `levels` ends here
  }
  if (Status s = upload(backend, counted_, counts_.data(), counts_.size(), stream); !s.ok())
    return s;
  if (edge_rule_)
    if (Status s = points_.provide(backend, 2 * EdgePoints::most * sizeof(EdgePoint)); !s.ok())
      return s;
  if (Status s = pixels_.provide(backend, pyramid_.extent(type_, source_planes()).bytes); !s.ok())
    return s;
  return smoothed_.provide(backend, source_planes() * size().area() * sizeof(SmoothedPixel));
}

Status PoseTemplate::load(const MatrixView& picture, Stream stream) {
  for (int plane = 0; plane < source_planes(); ++plane)
    if (Status s = load_plane(plane, plane_of(picture, plane, source_planes()), stream); !s.ok())
      return s;
  return edge_rule_ ? load_points(stream) : Status();
}

Status PoseTemplate::load_points(Stream stream) {
  const Runtime& device = runtime(device_.backend);
  const auto [width, height] = pyramid_.size;
  std::vector<std::uint8_t> picture(edge_sources_ * pyramid_.size.area());
  for (int i = 0; i < edge_sources_; ++i) {
    const Copy plane{&picture[i * pyramid_.size.area()],
                     width,
                     pixels() + i * pyramid_.area() + pyramid_.first_of(0),
                     pyramid_.pitch_of(0),
                     static_cast<std::size_t>(width),
                     static_cast<std::size_t>(height)};
    if (Status s = device.copy(plane, Memory::device, Memory::host, stream); !s.ok()) return s;
  }
  if (Status s = device.wait(stream); !s.ok()) return s;
  edge_points_ = edge_points_of(picture, edge_sources_, pyramid_.size, counts_, *edge_rule_);
  const std::vector<EdgePoint>& points = edge_points_.points;
  if (points.empty()) return {};
  return device.copy(bytes_copy(points_.data(), points.data(), points.size() * sizeof points[0]),
                     Memory::host, Memory::device, stream);
}

Status PoseTemplate::load_plane(int plane, const MatrixView& pixels, Stream stream) {
  const std::size_t bytes = pyramid_.size.area() * element();
  const void* source = pixels.data;
  if (pixels.memory == Memory::host && device_.backend != Backend::cpu) {
    if (Status s = loaded_.provide(device_.backend, bytes); !s.ok()) return s;
    source = loaded_.data();
    if (Status s = runtime(device_.backend)
                       .copy(bytes_copy(loaded_.data(), pixels.data, bytes), Memory::host,
                             Memory::device, stream);
        !s.ok())
      return s;
  }
  auto* const levels = pixels_.as<std::uint8_t>() + plane * pyramid_.area() * element();
  if (Status s = build_pyramid_->launch({pyramid_, pyramid_.size.width * element(), type_}, device_,
                                        {{nullptr, stream}, source, levels}, nullptr);
      !s.ok())
    return s;
  return smooth_->launch({pyramid_.size, type_}, device_,
                         {{nullptr, stream},
                          source,
                          counted_.as<std::uint8_t>(),
                          smoothed_.as<SmoothedPixel>() + plane * pyramid_.size.area()},
                         nullptr);
}

Result<PoseTemplate::Warped> PoseTemplate::room_for(std::span<const WarpMap> maps, int level,
                                                    Stream stream) const {
  const Backend backend = device_.backend;
  Warped made;
  made.most = most_of(maps);
  made.count = static_cast<int>(maps.size());
  made.level = level;
  const std::size_t pixels = maps.size() * made.most.area();
  if (Status s = upload(backend, made.maps, maps.data(), maps.size_bytes(), stream); !s.ok())
    return s;
  if (Status s = made.pixels.provide(backend, planes_ * pixels * element()); !s.ok()) return s;
  if (Status s = made.masks.provide(backend, pixels); !s.ok()) return s;
  if (Status s = made.sums.provide(backend, planes_ * maps.size() * sizeof(WarpedTemplateSums));
      !s.ok())
    return s;
  return made;
}

Status PoseTemplate::warp_template(const Warped& warped, int first, int count,
                                   Stream stream) const {
  const std::int64_t begin = first * warped.most.area();
  WarpEdges edges = this->edges(warped.level);
  edges.plane = warped.plane();
  for (int plane = 0; plane < (edge_rule_ ? 1 : planes_); ++plane) {
    const std::int64_t at = plane * warped.plane() + begin;
    if (Status s = warp_template_->launch(
            {pyramid_, masking_, warped.most, count, 0, 0, type_, edges}, device_,
            {{nullptr, stream},
             pixels() + plane * pyramid_.area() * element(),
             mask(),
             warped.maps.as<WarpMap>() + first,
             warped.pixels.as<std::uint8_t>() + at * element(),
             warped.masks.as<std::uint8_t>() + begin,
             warped.sums.as<WarpedTemplateSums>() + plane * warped.count + first},
            nullptr);
        !s.ok())
      return s;
  }
  return {};
}

Result<PoseTemplate::Warped> PoseTemplate::warped(std::span<const WarpMap> maps, int level,
                                                  Stream stream) const {
  auto made = room_for(maps, level, stream);
  if (!made.ok()) return made;
  if (Status s = warp_template(made.value(), 0, made.value().count, stream); !s.ok()) return s;
  return made;
}

Result<PoseTemplate::Images> PoseTemplate::download(const Warped& warped, Stream stream) const {
  const Runtime& device = runtime(device_.backend);
  const std::size_t pixels = warped.count * warped.most.area();
  Images made{warped.most, std::vector<std::byte>(planes_ * pixels * element()),
              std::vector<std::uint8_t>(pixels), std::vector<WarpedTemplateSums>(warped.count)};
  const auto fetch = [&](auto& to, const Block& from) {
    return device.copy(bytes_copy(to.data(), from.data(), to.size() * sizeof to[0]), Memory::device,
                       Memory::host, stream);
  };
  if (Status s = fetch(made.pixels, warped.pixels); !s.ok()) return s;
  if (Status s = fetch(made.masks, warped.masks); !s.ok()) return s;
  if (Status s = fetch(made.sums, warped.sums); !s.ok()) return s;
  if (Status s = device.wait(stream); !s.ok()) return s;
  return made;
}

Result<PoseTemplate::Images> PoseTemplate::images_of(std::span<const WarpMap> maps, int level,
                                                     Stream stream) const {
  const auto made = warped(maps, level, stream);
  return made.ok() ? download(made.value(), stream) : made.status();
}

Result<PoseTemplate::Images> PoseTemplate::framed(std::vector<WarpMap> maps, int level,
                                                  Stream stream) const {
  const Size most = most_of(maps);
  for (WarpMap& map : maps) std::tie(map.width, map.height) = std::pair(most.width, most.height);
  return images_of(maps, level, stream);
}

}  // namespace xcorr
