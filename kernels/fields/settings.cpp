// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fields/settings.hpp"

#include <cmath>
#include <string>
#include <utility>

#include "fields/plan.hpp"
#include "match/image.hpp"
#include "match/prefilter.hpp"

namespace xcorr {
namespace {

Status check_windows(Size image, const FieldSettings& s) {
  const auto bad = [](std::string what) { return Status(Code::invalid_argument, std::move(what)); };
  if (s.windows.empty()) return bad("there must be a window size at least");
  if (s.windows.size() > 16) return bad("there must be at most 16 passes");
  int before = FieldLimits::window;
  for (const int window : s.windows) {
    const std::string side = std::to_string(window);
    if (window < FieldLimits::least_window || window > FieldLimits::window)
      return bad("windows must be of 4 to 256 pixels along a side, not " + side);
    if (window > before)
      return bad("windows must not grow from pass to pass: " + side + " after " +
                 std::to_string(before));
    if (window > image.width || window > image.height)
      return bad("windows of " + side + "x" + side + " are larger than the image of " +
                 std::to_string(image.width) + "x" + std::to_string(image.height));
    before = window;
  }
  return {};
}

Status check_settings(Size image, const FieldSettings& s) {
  const auto bad = [](std::string what) { return Status(Code::invalid_argument, std::move(what)); };
  if (image.empty()) return bad("the image is empty");
  if (s.type != ElementType::u8 && s.type != ElementType::u16 && s.type != ElementType::f32)
    return {Code::unsupported,
            std::string("fields are measured in images of u8, u16 or f32, not ") + name_of(s.type)};
  if (Status status = check_windows(image, s); !status.ok()) return status;
  if (s.spacing < 1) return bad("the spacing must be at least 1, not " + std::to_string(s.spacing));
  for (const int range : {s.search_range, s.later_range})
    if (range < 1 || range > FieldLimits::range)
      return bad("search_range and later_range must be in [1, 64]");
  if (s.subpixel > FieldSubpixel::least_squares) return bad("no such sub-pixel method");
  if (s.order < 0 || s.order > 2) return bad("the order must be 0, 1 or 2");
  if (s.spline_degree != 3 && s.spline_degree != 5)
    return bad("the spline's degree must be 3 or 5, not " + std::to_string(s.spline_degree));
  if (!(s.weight_sigma >= 0 && s.weight_sigma <= 1000))
    return bad("weight_sigma must be in [0, 1000]");
  if (!(s.median_limit >= 0 && s.median_limit <= 1e6))
    return bad("median_limit must be in [0, 1e6]");
  if (!(s.median_noise > 0 && s.median_noise <= 1e6))
    return bad("median_noise must be above 0 and at most 1e6");
  if (!(s.min_score >= -1 && s.min_score <= 1)) return bad("min_score must be in [-1, 1]");
  if (!(s.smoothing >= 0 && s.smoothing <= 2)) return bad("smoothing must be in [0, 2]");
  if (Status status = Prefilter::check(s.prefilter_sigma); !status.ok()) return status;
  if (!(s.min_ratio >= 1 && s.min_ratio <= 100)) return bad("min_ratio must be in [1, 100]");
  if (!(s.min_counted > 0 && s.min_counted <= 1))
    return bad("min_counted must be above 0 and at most 1");
  return {};
}

Status check_mask(Size image, const MatrixView& mask) {
  const auto bad = [](const char* what) { return Status(Code::invalid_argument, what); };
  if (!mask.data) return {};
  if (mask.type != ElementType::u8 || mask.memory != Memory::host)
    return bad("the mask must be of u8 in host memory");
  if (mask.size != image) return bad("the mask is not of the images' size");
  return check_rows(mask, "the mask");
}

/// `window`: pixels along a side of those of the last pass.
Status check_places(Size image, int window, std::span<const FieldPlace> places) {
  constexpr std::size_t most = 1 << 24;
  if (places.size() > most)
    return {Code::invalid_argument, "there must be at most 16777216 places"};
  for (const FieldPlace& place : places) {
    const auto inside = [&](float center, int length) {
      if (!std::isfinite(center)) return false;
      const int corner = field_corner(center, window);
      return corner >= 0 && corner <= length - window;
    };
    if (!inside(place.x, image.width) || !inside(place.y, image.height))
      return {Code::invalid_argument, "the window at " + std::to_string(place.x) + ", " +
                                          std::to_string(place.y) + " is not inside the image"};
  }
  return {};
}

}  // namespace

Status check_field(Size image, const FieldSettings& settings, const MatrixView& mask,
                   std::span<const FieldPlace> places) {
  if (Status s = check_settings(image, settings); !s.ok()) return s;
  if (Status s = check_mask(image, mask); !s.ok()) return s;
  if (Status s = check_places(image, settings.windows.back(), places); !s.ok()) return s;
  if (settings.deformation && !places.empty())
    return {Code::invalid_argument, "deformation takes a grid, not windows at places"};
  return {};
}

}  // namespace xcorr
