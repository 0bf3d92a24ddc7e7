// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How often a template is halved: as often as what is left shows it, and tells its poses apart.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

#include "match/poses/template.hpp"
#include "stages/match/score.hpp"

namespace xcorr {
namespace {

/// What images of the top level must have to show the template: at the middle of the scales as
/// many pixels as a square of 12 has, at the least scale some along the shorter side, and a
/// likeness of what they look like half a pixel away, since matches lie between pixels.
constexpr double least_area = 12 * 12;
constexpr double least_extent = 6;
constexpr double least_likeness = 0.35;
/// On edges: so many pixels of them, weaker ones counted by their squares, where it is halved
/// twice. With fewer, too many places of a frame full of edges look as much like it as a part does
/// of which half is hidden. Each halving more takes twice as many: then more pixels mix edges of
/// the part with those round what is seen of it.
double least_edges_left(int level) { return std::ldexp(20, level - 2); }
/// Pixels along the shorter side of the smallest frame.
constexpr int least_frame = 12;

/// A pose that scores almost what a part does, and more by that much than in a finer image, is
/// one that only lost detail tells from the right one.
constexpr double almost = 0.15, lost_detail = 0.15;
/// Poses are others from that far on: a share of the shorter side, radians. Farther shifts than
/// `farthest` leave too little in common.
constexpr double nearest = 0.2, farthest = 0.3, least_turn = 20 * std::numbers::pi / 180;
/// Of the pixels that count, or of the edges, two images must have that share in common.
constexpr double least_in_common = 0.4;
/// More angles, pixels along a side or shifts one way say nothing more.
constexpr int most_angles = 48, most_shifts = 8;
/// Edges are lines, which so few as of luma would pass over.
constexpr int most_across(bool on_edges) { return on_edges ? 64 : 16; }
/// So many of the other poses are looked at in finer images.
constexpr std::size_t most_others = 3;
/// A level more for the sake of detail must not make more images than that: with many sizes it
/// would take 25 times as long.
constexpr std::int64_t most_images = 1024;
/// Levels between the two images.
constexpr int finer = 2;

/// Of two images, one of them shifted, over the pixels that count in both, every `stride`-th of
/// every `stride`-th row.
template <class T>
ScoreTerms<TermOf<T>> likeness_of(Method method, const T* a, const std::uint8_t* counts_a,
                                  const T* b, const std::uint8_t* counts_b, Size size, int dx,
                                  int dy, int stride) {
  WindowTerms<TermOf<T>> terms{};
  for (int y = std::max(0, -dy); y < std::min(size.height, size.height - dy); y += stride)
    for (int x = std::max(0, -dx); x < std::min(size.width, size.width - dx); x += stride) {
      const std::int64_t at = std::int64_t{y} * size.width + x;
      const std::int64_t to = at + std::int64_t{dy} * size.width + dx;
      if (!counts_a[to] || !counts_b[at]) continue;
      const TermOf<T> left = a[to], right = b[at];
      terms.n += 1;
      terms.product += left * right;
      terms.left_sum += left;
      terms.left_squares += left * left;
      terms.right_sum += right;
      terms.right_squares += right * right;
    }
  return score_terms(method, terms);
}

/// The template as it is.
WarpMap upright(Size size) {
  constexpr std::int32_t half = 1 << 23;
  return {half, 0, 0, half, size.width, size.height, 0, 0};
}

/// So that no more are left.
int stride_of(int count, int most) { return std::max(1, (count + most - 1) / most); }

}  // namespace

double PoseTemplate::likeness(const Images& images, std::size_t other, Shift shift, int stride,
                              double fewest) const {
  const Method method = edge_rule_ ? Method::orientation : Method::ccoeff_normed;
  const auto of = [&](auto pixel) {
    const auto* pixels = reinterpret_cast<const decltype(pixel)*>(images.pixels.data());
    const auto begin = static_cast<std::int64_t>(other) * images.most.area();
    const auto plane_size = std::ssize(images.sums) * images.most.area();
    const auto of_plane = [&](int plane) {
      const auto* const first = pixels + plane * plane_size;
      return likeness_of(method, first, images.masks.data(), first + begin,
                         images.masks.data() + begin, images.most, shift.x, shift.y, stride);
    };
    auto terms = of_plane(0);
    for (int plane = 1; plane < planes_; ++plane) terms += of_plane(plane);
    const double common = edge_rule_ ? double(terms.right_squares) : double(terms.n);
    return common < fewest ? -1 : score(method, terms);
  };
  return type_ == ElementType::u8    ? of(std::uint8_t{})
         : type_ == ElementType::u16 ? of(std::uint16_t{})
                                     : of(float{});
}

double PoseTemplate::fewest_in_common(const Images& images, int stride) const {
  // Of edges that few agree does not say that the rest would.
  const double all = edge_rule_ ? double(edge_squares(images, 0, images.most, images.most))
                                : images.sums[0].counted;
  return least_in_common * all / (stride * stride);
}

Result<double> PoseTemplate::likeness_between_pixels(const WarpMap& map, int level,
                                                     Stream stream) const {
  // A pixel more across and down, and its pixels lie half a pixel away.
  WarpMap maps[2] = {map, map};
  ++maps[1].width;
  ++maps[1].height;
  const auto images = images_of(maps, level, stream);
  if (!images.ok()) return images.status();
  return likeness(images.value(), 1, {}, 1, 0);
}

Result<double> PoseTemplate::edges_shown(const WarpMap& map, int level, Stream stream) const {
  constexpr double of_pixel = 127 * 127;
  const auto images = images_of(std::array{map}, level, stream);
  if (!images.ok()) return images.status();
  const Size size = images.value().most;
  return double(edge_squares(images.value(), 0, size, size)) / of_pixel;
}

Result<std::int64_t> PoseTemplate::fewest_edges(Stream stream) const {
  std::vector<WarpMap> maps;
  for (int angle = 0; angle < grid_.angles(0); angle += stride_of(grid_.angles(0), most_angles))
    maps.push_back(grid_.map(0, {angle, 0}));
  const auto images = images_of(maps, 0, stream);
  if (!images.ok()) return images.status();
  const std::int64_t each = images.value().most.area(), plane = std::ssize(maps) * each;
  std::int64_t fewest = each;
  for (std::int64_t begin = 0; begin < plane; begin += each) {
    const std::byte* const image = images.value().pixels.data() + begin;
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < each; ++i)
      count += image[i] != std::byte{no_edge} || image[i + plane] != std::byte{no_edge};
    fewest = std::min(fewest, count);
  }
  return fewest;
}

Result<bool> PoseTemplate::has_no_contrast(Stream stream) const {
  if (is_live()) return false;
  // At other poses the rim of the mask has something of what lies outside.
  const auto images = images_of(std::array{upright(pyramid_.size)}, 0, stream);
  if (!images.ok()) return images.status();
  return likeness(images.value(), 0, {}, 1, 0) == 0;
}

PoseGrid PoseTemplate::grid_of(const PoseRange& range, int top, int halvings) const {
  return PoseGrid(range, extent_, round_, diameter_, top, std::min(halvings, pyramid_.halvings));
}

Status PoseTemplate::choose_levels(const PoseRange& range, Size frame, Stream stream) {
  const double shorter = std::min(extent_.width, extent_.height) * range.scale_min;
  const double area = double(extent_.area()) * range.scale_min * range.scale_max;
  const bool asked = range.pyramid_levels >= 0;
  const auto fits = [&](int level) {
    const double left = std::ldexp(shorter, -level);
    return std::min(frame.width, frame.height) >> level >= least_frame &&
           (asked ? level <= range.pyramid_levels && left >= least_template_side
                  : std::ldexp(area, -2 * level) >= least_area && left >= least_extent);
  };
  const auto makes_many_images = [&](int level) {
    return images_of_top(grid_of(range, level, pyramid_.halvings)) > most_images;
  };
  const auto flat = has_no_contrast(stream);
  if (!flat.ok()) return flat.status();
  flat_ = flat.value();
  for (int level = 0; level == 0 || fits(level); ++level) {
    const WarpMap map = grid_of(range, level, pyramid_.halvings).map(level, {});
    const auto like = likeness_between_pixels(map, level, stream);
    if (!like.ok()) return like.status();
    const double left = flat_ ? 1 : like.value();
    if (level > 0 && !asked && left < least_likeness &&
        !(edge_rule_ && range.scale_min < range.scale_max && makes_many_images(level - 1)))
      break;
    // In frames of half size lines of a pixel still show; full size takes many times as long, and
    // so does a level less of several sizes.
    if (edge_rule_ && level > 1 && range.scale_min == range.scale_max && !asked) {
      const auto shown = edges_shown(map, level, stream);
      if (!shown.ok()) return shown.status();
      if (shown.value() < least_edges_left(level)) break;
    }
    likeness_.push_back(left);
  }
  while (!asked && likeness_.size() > 2) {
    const int top = static_cast<int>(likeness_.size()) - 1;
    const PoseGrid larger = grid_of(range, top - 1, pyramid_.halvings);
    if (makes_many_images(top - 1) || samples_of(larger) > most_samples) break;
    const auto tells = tells_poses_apart(grid_of(range, top, pyramid_.halvings), stream);
    if (!tells.ok()) return tells.status();
    if (tells.value()) break;
    likeness_.pop_back();
  }
  const int top = static_cast<int>(likeness_.size()) - 1;
  grid_ = grid_of(range, top, pyramid_.halvings);
  score_grid_ = grid_.of_scores();
  // The images of the top level are made once: from a finer level, which takes more samples. Those
  // of edges are made at full size anyway.
  top_grid_ = edge_rule_ ? grid_ : grid_of(range, top, std::max(top - finer, 0));
  return find_ridges(stream);
}

double PoseTemplate::slack(int level) const {
  constexpr double rest = 0.05;  // of the angle and of rounding
  return level < 0 ? rest : rest + 1 - std::clamp(likeness_[level], 0.0, 1.0);
}

// ---- other poses ----------------------------------------------------------------------------

Result<std::vector<PoseTemplate::OtherPose>> PoseTemplate::poses_almost_alike(const PoseGrid& grid,
                                                                              Stream stream) const {
  const int level = grid.top(), scale = grid.scales(level) / 2;
  const int by = stride_of(grid.angles(level), most_angles);
  const auto expected = likeness_between_pixels(grid.map(level, {0, scale}), level, stream);
  if (!expected.ok()) return expected.status();
  std::vector<WarpMap> maps;
  for (int angle = 0; angle < grid.angles(level); angle += by)
    maps.push_back(grid.map(level, {angle, scale}));
  const int side = std::min(maps[0].width, maps[0].height);
  const auto images = framed(std::move(maps), level, stream);
  if (!images.ok()) return images.status();

  const int reach = static_cast<int>(farthest * side);
  const int stride = stride_of(side, most_across(edge_rule_.has_value()));
  const int step = stride_of(reach, most_shifts);
  const double fewest = fewest_in_common(images.value(), stride);
  std::vector<OtherPose> others;
  for (int i = 0; i * by < grid.angles(level); ++i) {
    const double turned =
        std::abs(std::remainder(i * by * grid.angle_step(level), 2 * std::numbers::pi));
    for (int dy = -reach; dy <= reach; dy += step)
      for (int dx = -reach; dx <= reach; dx += step) {
        if (turned < least_turn && std::hypot(dx, dy) < nearest * side) continue;
        const double like =
            likeness(images.value(), static_cast<std::size_t>(i), {dx, dy}, stride, fewest);
        if (like > expected.value() - almost) others.push_back({{i * by, scale}, {dx, dy}, like});
      }
  }
  std::ranges::stable_sort(others, std::ranges::greater{}, &OtherPose::likeness);
  return others;
}

Result<double> PoseTemplate::likeness_in_finer(const PoseGrid& grid, const OtherPose& other,
                                               Stream stream) const {
  const int level = std::max(grid.top() - finer, 0), down = grid.top() - level;
  const int angles = grid.angles(level), scale = other.pose.scale << down;
  std::vector<WarpMap> maps{grid.map(level, {0, scale})};
  for (int turn = -1; turn <= 1; ++turn) {
    const int angle = (other.pose.angle << down) + turn;
    if (angle >= 0 && angle < angles) maps.push_back(grid.map(level, {angle, scale}));
  }
  const std::size_t count = maps.size();
  const int side = std::min(maps[0].width, maps[0].height);
  const auto images = framed(std::move(maps), level, stream);
  if (!images.ok()) return images.status();
  const int stride = stride_of(side, 2 * most_across(edge_rule_.has_value()));
  const int reach = 1 << down;
  double best = -1;
  for (std::size_t i = 1; i < count; ++i)
    for (int dy = -reach; dy <= reach; ++dy)
      for (int dx = -reach; dx <= reach; ++dx)
        best = std::max(best, likeness(images.value(), i,
                                       {(other.shift.x << down) + dx, (other.shift.y << down) + dy},
                                       stride, 0));
  return best;
}

Result<bool> PoseTemplate::tells_poses_apart(const PoseGrid& grid, Stream stream) const {
  const auto others = poses_almost_alike(grid, stream);
  if (!others.ok()) return others.status();
  std::vector<OtherPose> seen;
  for (const OtherPose& other : others.value()) {
    if (seen.size() == most_others) break;
    if (std::ranges::any_of(seen, [&](const OtherPose& one) {
          return std::abs(one.shift.x - other.shift.x) <= 1 &&
                 std::abs(one.shift.y - other.shift.y) <= 1 &&
                 std::abs(std::remainder(
                     (one.pose.angle - other.pose.angle) * grid.angle_step(grid.top()),
                     2 * std::numbers::pi)) < least_turn;
        }))
      continue;
    seen.push_back(other);
    const auto like = likeness_in_finer(grid, other, stream);
    if (!like.ok()) return like.status();
    if (like.value() < other.likeness - lost_detail) return false;
  }
  return true;
}

}  // namespace xcorr
