// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/association/trace.hpp"

#include <algorithm>
#include <cmath>

namespace xcorr::follow {
namespace {

constexpr double price_of_distance = 0.3;

/// How quickly the mean similarity follows the detections.
constexpr double rate_of_usual = 0.02;

/// A window that reaches so many standard deviations holds nearly every place.
constexpr double deviations = 3;

Point middle_of(const Peak& peak) {
  return {peak.x + 0.5 * peak.width, peak.y + 0.5 * peak.height};
}

}  // namespace

/// Nothing is known of its velocity, but most things move less than half their size in a frame.
Trace::Trace(const Peak& seen, std::uint64_t frame)
    : peak(seen),
      motion(middle_of(seen), std::max(seen.width, seen.height) / 2.0),
      seen_at(frame),
      usual(seen.similarity) {}

Point Trace::expected(std::uint64_t frame) const {
  const Point middle = motion.expected(static_cast<double>(frame - seen_at));
  return {middle.x - 0.5 * peak.width, middle.y - 0.5 * peak.height};
}

double Trace::distance(const Peak& seen, std::uint64_t frame) const {
  const Point expected = motion.expected(static_cast<double>(frame - seen_at)),
              middle = middle_of(seen);
  return std::max(std::abs(middle.x - expected.x), std::abs(middle.y - expected.y));
}

double Trace::position_sigma(std::uint64_t frame) const {
  return motion.position_sigma(static_cast<double>(frame - seen_at));
}

double Trace::reach(std::uint64_t frame, int margin) const {
  return std::max<double>(margin, deviations * position_sigma(frame));
}

double Trace::association_score(double similarity, double far, std::uint64_t frame) const {
  const double price = anywhere ? 0 : price_of_distance * std::log1p(far / position_sigma(frame));
  return std::clamp(similarity, 0.0, 1.0) - price;
}

void Trace::see(const Peak& seen, std::uint64_t frame) {
  glimpse(seen, frame, 1);
  peak = seen;
  missed = 0;
  ++detections;
  ++counted;
  usual += std::max(rate_of_usual, 1.0 / counted) * (seen.similarity - usual);
}

void Trace::forget_similarity() {
  usual = 1;
  detections = counted = 1;
}

void Trace::glimpse(const Peak& seen, std::uint64_t frame, double sure) {
  if (frame > seen_at) motion.correct(middle_of(seen), static_cast<double>(frame - seen_at), sure);
  seen_at = frame;
}

}  // namespace xcorr::follow
