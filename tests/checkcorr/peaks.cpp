// SPDX-License-Identifier: LGPL-2.1-or-later
#include "peaks.hpp"

#include <algorithm>
#include <cfloat>

#include "norms.hpp"
#include "oracle/reference_methods.hpp"
#include "places.hpp"

namespace checkcorr {

void compare_candidates(Comparison& comparison, const Truth& t, const Values& got) {
  const auto counts = view<std::uint32_t>(t.scenario.values, "counts");
  const auto actual_counts = view<std::uint32_t>(got, "counts");
  const auto expected = view<xcorr::Candidate>(t.scenario.values, "candidates");
  const auto actual = view<xcorr::Candidate>(got, "candidates");
  for (std::size_t r = 0; r < counts.size(); ++r) {
    comparison.value([&] { return "counts[" + std::to_string(r) + "]"; }, counts[r],
                     actual_counts[r], 0);
    for (std::size_t k = 0; k < std::min(counts[r], actual_counts[r]); ++k) {
      const std::size_t i = r * static_cast<std::size_t>(t.scenario.problem.max_peaks) + k;
      const auto place = [&](const char* member) {
        return [=] {
          return "candidates[" + std::to_string(i) + "]." + member + " (right " +
                 std::to_string(r) + ", peak " + std::to_string(k) + ")";
        };
      };
      comparison.value(place("score"), expected[i].score, actual[i].score, 0);
      comparison.value(place("x"), expected[i].x, actual[i].x, 0);
      comparison.value(place("y"), expected[i].y, actual[i].y, 0);
    }
  }
}

namespace {

/// Of the score of the window at (x, y), from floating-point pixels.
double exact_score_bound(const Truth& t, const TemplateSums& right, int x, int y, double expected) {
  const auto element = static_cast<std::size_t>(y) * t.scenario.problem.correlate.shifts.width + x;
  return score_bound(t.scenario.problem.method, window_at(t.scenario, element), right, expected);
}

TemplateSums sums_of(const Truth& t, std::size_t right) {
  return sums_of_right(t.scenario.problem.correlate,
                       view<TemplateSums>(t.scenario.values, "template_sums").data(),
                       static_cast<std::int64_t>(right));
}

template <class T>
double exact_score_at(const Truth& t, std::size_t right, int x, int y) {
  namespace plain = xcorr::cpu::plain;
  const Problem& p = t.scenario.problem.correlate;
  const auto bytes = view<std::uint8_t>(t.scenario.values, "mask");
  const plain::Mask mask{bytes.empty() ? nullptr : bytes.data(), p.right.width};
  const plain::SeenMask seen = plain::seen_mask(p, t.scenario.problem.overhang, mask, x, y);
  return plain::method_score(
      t.scenario.problem.method,
      plain::terms_at<T>(p, view<std::byte>(t.scenario.values, "lefts").data(),
                         view<std::byte>(t.scenario.values, "templates").data(),
                         seen.is_whole ? mask : seen.mask(), static_cast<int>(right), x, y));
}

/// Of the sub-pixel place of a peak, from the nine scores that it comes from.
xcorr::Offset place_bound_at(const Truth& t, std::size_t right, const xcorr::RefinedPeak& peak) {
  const xcorr::Rect shifts = t.scenario.problem.correlate.shifts;
  const TemplateSums sums = sums_of(t, right);
  const ElementType type = t.scenario.problem.correlate.type;
  double scores[9] = {}, error = 0;
  for (int i = 0; i < 9; ++i) {
    const int x = peak.x + i % 3 - 1, y = peak.y + i / 3 - 1;
    if (x < 0 || y < 0 || x >= shifts.width || y >= shifts.height) continue;
    scores[i] = with_pixels(type, [&]<class T>() { return exact_score_at<T>(t, right, x, y); });
    if (!is_integral(type))
      error = std::max(
          error, exact_score_bound(t, sums, x, y, scores[i]) + DBL_EPSILON * std::abs(scores[i]));
  }
  return place_bound(scores, peak.x > 0 && peak.x + 1 < shifts.width,
                     peak.y > 0 && peak.y + 1 < shifts.height,
                     xcorr::info(t.scenario.problem.method).minimum ||
                         xcorr::is_inverted(t.scenario.problem.contrast.polarity, peak.score),
                     error);
}

}  // namespace

void compare_peaks(Comparison& comparison, const Truth& t, const Values& got) {
  const bool exact = is_integral(t.scenario.problem.correlate.type);
  const auto counts = view<std::uint32_t>(t.scenario.values, "counts");
  const auto expected = view<xcorr::RefinedPeak>(t.scenario.values, "peaks");
  const auto actual = view<xcorr::RefinedPeak>(got, "peaks");
  compare_exactly<std::uint32_t>(comparison, "peak_counts", t.scenario.values, got);
  for (std::size_t r = 0; r < counts.size(); ++r)
    for (std::size_t k = 0; k < counts[r]; ++k) {
      const std::size_t i = r * static_cast<std::size_t>(t.scenario.problem.max_peaks) + k;
      const auto &e = expected[i], &a = actual[i];
      const auto place = [&](const char* member) {
        return [=] {
          return "peaks[" + std::to_string(i) + "]." + member + " (right " + std::to_string(r) +
                 ", x " + std::to_string(e.x) + ", y " + std::to_string(e.y) + ")";
        };
      };
      comparison.value(place("x"), e.x, a.x, 0);
      comparison.value(place("y"), e.y, a.y, 0);
      const double bound = exact ? 0 : exact_score_bound(t, sums_of(t, r), e.x, e.y, e.score);
      comparison.value(place("score"), e.score, a.score, bound);
      const xcorr::Offset places =
          t.scenario.problem.subpixel ? place_bound_at(t, r, e) : xcorr::Offset{};
      comparison.value(place("dx"), e.dx, a.dx, places.dx);
      comparison.value(place("dy"), e.dy, a.dy, places.dy);
    }
}

}  // namespace checkcorr
