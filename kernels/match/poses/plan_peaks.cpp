// SPDX-License-Identifier: LGPL-2.1-or-later
//
// From where the descent ended to peaks, and whether there can be any.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "match/poses/overlap.hpp"
#include "match/poses/plan.hpp"

namespace xcorr {
namespace {

constexpr double degree = std::numbers::pi / 180;

/// A pose so little past the border of the range, in pixels at the template's rim, scores as that
/// of the border does.
constexpr double least_past = 0.125;

/// How far the rim is from where the nearest pose of the range has it.
double past(const PoseGrid& grid, Size size, const RefinedPose& refined) {
  const double angle = std::atan2(refined.sine, refined.cosine);
  const double turned = std::remainder(grid.angle_in_range(angle) - angle, 360 * degree);
  const double grown = grid.scale_in_range(refined.scale) - refined.scale;
  return 0.5 * std::max(size.width, size.height) *
         std::max(std::abs(turned) * refined.scale, std::abs(grown));
}

/// Moves a pose from where it was scored to where least squares led, at most to the border of the
/// range.
void settle(const PoseGrid& grid, const RefinedPose& refined, Pose& pose) {
  pose.angle = grid.angle_in_range(std::atan2(refined.sine, refined.cosine)) / degree;
  pose.scale = grid.scale_in_range(refined.scale);
  pose.center_x = refined.x;
  pose.center_y = refined.y;
}

}  // namespace

bool PosePlan::fits(std::uint32_t index) const {
  const Search& search = searches_[index];
  if (settings_.overhang > 0) return !search.top.slots().empty();
  const PoseGrid& grid = search.templ.grid();
  const Size extent = grid.steps().extent;
  for (int quarter = 0; quarter < 4; ++quarter) {
    const double angle = 90 * quarter * degree;
    const double off = std::remainder(grid.angle_in_range(angle) - angle, 360 * degree);
    const auto [across, down] = quarter % 2 ? std::pair(extent.height, extent.width)
                                            : std::pair(extent.width, extent.height);
    const double scale = grid.scale(0, {});
    if (std::abs(off) < 1e-9 && across * scale <= region_.width + 1e-6 &&
        down * scale <= region_.height + 1e-6)
      return true;
  }
  for (int angle = 0; angle < grid.angles(0); ++angle)
    if (const WarpMap image = grid.map(0, {angle, 0});
        image.width <= region_.width && image.height <= region_.height)
      return true;
  return false;
}

void PosePlan::collect(std::vector<Peak>& peaks) const {
  peaks.clear();
  if (region_.empty()) return;
  const bool needs_contrast = info(method_of(settings_)).centred;
  for (std::uint32_t i = 0; i < searches_.size(); ++i) {
    if (needs_contrast && searches_[i].templ.is_flat()) continue;
    std::vector<Found> found;
    for (const PoseDescent::End& end : searches_[i].descent.ends())
      if (!is_cut_off(searches_[i], end)) found.push_back(found_at(searches_[i], end));
    for (const Found& one : suppressed(std::move(found))) peaks.push_back(peak_of(i, one));
  }
}

bool PosePlan::is_cut_off(const Search& search, const PoseDescent::End& end) const {
  if (end.refinement.is_refined && end.rescored.is_inside) return false;
  if (!search.templ.can_be_aligned()) return false;
  const PoseCandidate& candidate = end.candidate;
  // What scores as a copy does is one, even if least squares say nothing of a part as thin as that.
  if (candidate.similarity >= 1 - search.templ.slack(-1)) return false;
  const WarpMap image = search.templ.grid().map(0, candidate.pose);
  const RescorePlace place{image.width, image.height, candidate.twice_x, candidate.twice_y};
  const int left = region_.x + place.left(), top = region_.y + place.top();
  return left < 1 || top < 1 || left + place.width >= frame_.width ||
         top + place.height >= frame_.height;
}

PosePlan::Found PosePlan::found_at(const Search& search, const PoseDescent::End& end) const {
  const PoseGrid& grid = search.templ.grid();
  const auto& [candidate, refinement, rescored, differences] = end;
  const auto pose_at = [&](const auto& place, const PoseGrid& of) {
    return Pose{0.5 * place.twice_x, 0.5 * place.twice_y,
                grid.angle_in_range(of.angle(0, place.pose)) / degree,
                grid.scale_in_range(of.scale(0, place.pose))};
  };
  Found found{candidate.score, candidate.similarity, pose_at(candidate, grid), differences[0]};
  // Farther past the range's border least squares say little of what is best in it.
  if (rescored.is_inside && refinement.is_refined &&
      past(grid, search.templ.size(), refinement.pose) <= least_past) {
    found = {rescored.score,
             similarity_of(info(method_of(settings_)).minimum, contrast_of(settings_).polarity,
                           rescored.score),
             pose_at(rescored, search.templ.score_grid()), differences[1]};
    if (settings_.subpixel != Subpixel::none) settle(grid, refinement.pose, found.pose);
  }
  Pose& pose = found.pose;
  pose.angle = std::remainder(pose.angle, 360);
  const Size size = search.templ.size();
  pose.width = pose.scale * size.width;
  pose.height = pose.scale * size.height;
  return found;
}

std::vector<PosePlan::Found> PosePlan::suppressed(std::vector<Found> found) const {
  std::ranges::stable_sort(found, std::ranges::greater{}, &Found::similarity);
  std::vector<Found> kept;
  const double distance = settings_.min_peak_distance;
  for (const Found& one : found) {
    if (static_cast<int>(kept.size()) == settings_.max_peaks ||
        one.similarity < settings_.threshold)
      break;
    if (settings_.confirm_threshold > 0 && one.difference > settings_.confirm_threshold) continue;
    const bool hidden = std::ranges::any_of(kept, [&](const Found& other) {
      return (std::abs(one.pose.center_x - other.pose.center_x) < distance &&
              std::abs(one.pose.center_y - other.pose.center_y) < distance) ||
             overlap_of(one.pose, other.pose) > settings_.poses.max_overlap;
    });
    if (!hidden) kept.push_back(one);
  }
  return kept;
}

Peak PosePlan::peak_of(std::uint32_t index, const Found& found) const {
  const Polarity polarity = contrast_of(settings_).polarity;
  Pose pose = found.pose;
  pose.center_x += region_.x;
  pose.center_y += region_.y;
  const double angle = pose.angle * degree;
  const double cosine = std::abs(std::cos(angle)), sine = std::abs(std::sin(angle));
  const double width = cosine * pose.width + sine * pose.height;
  const double height = sine * pose.width + cosine * pose.height;
  return {index,
          pose.center_x - 0.5 * (width - 1),
          pose.center_y - 0.5 * (height - 1),
          static_cast<int>(std::lround(width)),
          static_cast<int>(std::lround(height)),
          oriented(polarity, found.score),
          found.similarity,
          pose,
          settings_.polarity == Polarity::inverted || is_inverted(polarity, found.score)};
}

}  // namespace xcorr
