// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/task.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "match/confidence.hpp"
#include "match/image.hpp"
#include "match/prefilter.hpp"

namespace xcorr {
namespace {

Status check_settings(const MatchSettings& s) {
  const auto bad = [](const char* what) { return Status(Code::invalid_argument, what); };
  if (static_cast<std::size_t>(s.method) >= methods().size()) return bad("no such method");
  if (s.match_on > MatchOn::color_edges) return bad("nothing of that kind can be matched on");
  if (s.subpixel > Subpixel::least_squares) return bad("no such way to find sub-pixel places");
  if (!(s.threshold >= -1 && s.threshold <= 1)) return bad("the threshold must be in [-1, 1]");
  if (!(s.subpixel_threshold >= -1 && s.subpixel_threshold <= 1))
    return bad("subpixel_threshold must be in [-1, 1]");
  if (s.polarity > Polarity::either) return bad("no such polarity");
  const bool on_edges = is_on_edges(s.match_on);
  if (s.polarity != Polarity::same && !info(s.method).centred && !on_edges)
    return {Code::unsupported, std::string("polarity: the sign of scores by ") +
                                   info(s.method).name +
                                   " says nothing; it does by ccoeff and ccoeff-normed"};
  if (!(s.min_contrast >= 0 && std::isfinite(s.min_contrast)))
    return bad("min_contrast must be finite and not negative");
  if (s.min_contrast > 0 && on_edges)
    return bad("min_contrast is of luma and colour: edges have edge_contrast");
  if (!(s.edge_contrast > 0 && s.edge_contrast <= 64))
    return bad("edge_contrast must be in (0, 64]");
  if (!(s.overhang >= 0 && s.overhang <= 0.5)) return bad("overhang must be in [0, 0.5]");
  if (s.overhang > 0 && !info(s.method).normed)
    return {Code::unsupported, std::string("overhang: scores by ") + info(s.method).name +
                                   " grow with the pixels; those of normed methods do not"};
  if (s.overhang > 0 && on_edges)
    return {Code::unsupported, "overhang: what sticks out of the frame is not searched on edges"};
  if (!(s.confirm_threshold >= 0 && std::isfinite(s.confirm_threshold)))
    return bad("confirm_threshold must be finite and not negative");
  if (s.confirm_threshold > 0 && (on_edges || s.overhang > 0))
    return {Code::unsupported,
            "confirm_threshold is for templates inside the frame, on luma and colour"};
  if (s.weights && !can_weigh(s))
    return {Code::unsupported,
            "weights are for normed methods and templates inside the frame, on luma and colour, "
            "upright without confirm_threshold"};
  if (s.max_peaks < 1 || s.max_peaks > most_peaks) return bad("max_peaks must be in [1, 1024]");
  if (s.min_peak_distance < 0) return bad("min_peak_distance must not be negative");
  if (!(s.poses.max_overlap >= 0 && s.poses.max_overlap <= 1))
    return bad("max_overlap must be in [0, 1]");
  if (const auto& near = s.poses.vicinity;
      near && !(std::isfinite(near->angle) && near->turn >= 0 && near->scale > 0 &&
                std::isfinite(near->scale) && near->growth >= 0))
    return bad("the vicinity of poses must have a finite angle and scale and no negative reach");
  if (Status status = check_confidence(s); !status.ok()) return status;
  return Prefilter::check(s.prefilter_sigma);
}

}  // namespace

bool can_weigh(const MatchSettings& s) {
  return info(s.method).normed && !is_on_edges(s.match_on) && !(s.overhang > 0) &&
         (s.poses.any() || !(s.confirm_threshold > 0));
}

Rect searched_region(Size frame, const Rect& region) {
  if (region.empty()) return {0, 0, frame.width, frame.height};
  const int x = std::clamp(region.x, 0, frame.width), y = std::clamp(region.y, 0, frame.height);
  // The end may exceed an int.
  const auto end = [](std::int64_t start, int length, int limit) {
    return static_cast<int>(std::clamp<std::int64_t>(start + length, 0, limit));
  };
  return {x, y, end(region.x, region.width, frame.width) - x,
          end(region.y, region.height, frame.height) - y};
}

Status check_task(ElementType type, Size frame, const MatchSettings& settings) {
  if (Status s = check_settings(settings); !s.ok()) return s;
  if (frame.empty()) return {Code::invalid_argument, "the frame is empty"};
  if (!is_matched(type))
    return {Code::invalid_argument,
            std::string("frames of type ") + name_of(type) + "; frames are of " + matched_types};
  if (is_on_edges(settings.match_on) && type != ElementType::u8)
    return {Code::invalid_argument,
            std::string("edges are those of frames of u8, not of ") + name_of(type)};
  if (settings.weights && type != ElementType::u8 && !settings.poses.any())
    return {
        Code::invalid_argument,
        std::string("weights of upright templates are for frames of u8, not of ") + name_of(type)};
  return {};
}

Status check_frame(const MatrixView& frame, ElementType type, Size size, MatchOn match_on) {
  if (frame.type != type || frame.size != size)
    return {Code::invalid_argument, "the frame is not of the prepared type and size"};
  if (!frame.data) return {Code::invalid_argument, "the frame has no data"};
  if (is_in_color(match_on) && !frame.has_color())
    return {Code::invalid_argument, "the frame is gray: it has no colour to match on"};
  if (is_in_color(match_on))
    if (Status s = check_color(frame, "the frame"); !s.ok()) return s;
  return check_rows(frame, "the frame");
}

}  // namespace xcorr
