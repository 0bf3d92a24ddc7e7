// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/association/confidence.hpp"

#include <algorithm>
#include <cmath>

#include "match/confidence.hpp"

namespace xcorr::follow {
namespace {

/// A logistic regression, rounded.
constexpr double weight_of_similarity = 8, weight_of_margin = 4, offset = -7;

/// A larger margin does not make a place surer.
constexpr double most_margin = 0.5;

/// The same for filters: of the logarithm of the PSR.
constexpr double weight_of_psr = 5.7, offset_of_psr = -14.2;

/// And of what is left of the first view.
constexpr double weight_of_first = 9, weight_of_likeness = 3, offset_of_first = -0.4;

/// With less the filter of the first view does not know what it sees, or its colours do not.
constexpr double least_first_response = 0.08, least_likeness = 0.5;

/// A regression, rounded, of what is right on the logarithms of the first view's response and of
/// the growth, and on the likeness.
constexpr double likeness_for_growth = 6, power_of_growth = 3, offset_of_growth = -1.6;

double resemblance(double first_response, double color_likeness) {
  return logistic(weight_of_first * first_response + weight_of_likeness * color_likeness +
                  offset_of_first);
}

}  // namespace

double confidence(double similarity, double margin) {
  const double sum = weight_of_similarity * std::clamp(similarity, 0.0, 1.0) +
                     weight_of_margin * std::clamp(margin, -most_margin, most_margin) + offset;
  return logistic(sum);
}

double confidence(double psr) {
  return psr > 0 ? logistic(weight_of_psr * std::log(psr) + offset_of_psr) : 0;
}

double resemblance(const FilterDetection& filter_detection) {
  return resemblance(filter_detection.first_response, filter_detection.color_likeness);
}

double most_growth(const FilterDetection& filter_detection) {
  const double first = std::max(filter_detection.first_response, 0.0);
  const double likeness = likeness_for_growth * filter_detection.color_likeness + offset_of_growth;
  return std::pow(first * std::exp(likeness), 1 / power_of_growth);
}

double recognition(const FilterDetection& filter_detection) {
  const double first = filter_detection.first_response_here,
               likeness = filter_detection.color_likeness_here;
  return first >= least_first_response && likeness >= least_likeness ? resemblance(first, likeness)
                                                                     : 0;
}

}  // namespace xcorr::follow
