// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/confidence.hpp"

#include <algorithm>
#include <cmath>

#include "match/task.hpp"

namespace xcorr {
namespace {

/// A logistic regression, rounded.
struct Calibration {
  /// The other place is looked for down to this similarity. One that is not found counts as this,
  /// so that the confidence does not depend on the threshold.
  double floor;
  double weight_of_peak, weight_of_lead, offset;
};

constexpr Calibration on_luma{0.3, 0.8, 3.8, -4.5}, on_edges{0.2, -0.7, 7.2, -4.4};

/// Similarities above tell no more: the Fisher transform of 1 is infinite.
constexpr double most = 0.999;

constexpr const Calibration& calibration_of(const MatchSettings& settings) {
  return settings.match_on == MatchOn::edges ? on_edges : on_luma;
}

double fisher(double similarity, double least) {
  return std::atanh(std::clamp(similarity, least, most));
}

double confidence(double similarity, double other, const Calibration& by) {
  const double peak = fisher(similarity, 0);
  const double lead = std::max(peak - fisher(other, by.floor), 0.0);
  return logistic(by.weight_of_peak * peak + by.weight_of_lead * std::sqrt(lead) + by.offset);
}

}  // namespace

bool has_confidence(const MatchSettings& s) {
  const bool by_luma = s.match_on == MatchOn::luma && s.method == Method::ccoeff_normed;
  return (by_luma || s.match_on == MatchOn::edges) && s.max_peaks < most_peaks;
}

Status check_confidence(const MatchSettings& s) {
  if (!(s.min_confidence >= -1 && s.min_confidence <= 1))
    return {Code::invalid_argument, "min_confidence must be in [-1, 1]"};
  if (!is_confidence_asked(s) || has_confidence(s)) return {};
  return {Code::unsupported,
          "min_confidence: how sure a place is, is known for ccoeff-normed on luma and for edges, "
          "with max_peaks of at most 1023"};
}

MatchSettings search_for_confidence(const MatchSettings& asked) {
  MatchSettings search = asked;
  if (!is_confidence_asked(asked)) return search;
  search.min_confidence = -1;
  search.max_peaks = asked.max_peaks + 1;
  search.threshold = std::min(asked.threshold, calibration_of(asked).floor);
  search.subpixel_threshold = std::max(asked.subpixel_threshold, asked.threshold);
  search.best_template = false;  // among what is kept
  return search;
}

void keep_sure(std::vector<Peak>& peaks, const MatchSettings& asked) {
  if (!is_confidence_asked(asked)) return;
  const Calibration& by = calibration_of(asked);
  auto kept = peaks.begin();
  for (auto first = peaks.begin(); first != peaks.end();) {
    const auto last = std::find_if(first, peaks.end(), [&](const Peak& peak) {
      return peak.template_index != first->template_index;
    });
    const auto end = first + std::min<std::ptrdiff_t>(last - first, asked.max_peaks);
    const double other = end == last ? by.floor : end->similarity;
    for (; first != end; ++first) {
      first->confidence = confidence(first->similarity, other, by);
      if (first->similarity >= asked.threshold && first->confidence >= asked.min_confidence)
        *kept++ = *first;
    }
    first = last;
  }
  peaks.erase(kept, peaks.end());
}

}  // namespace xcorr
