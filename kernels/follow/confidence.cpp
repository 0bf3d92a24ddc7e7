// SPDX-License-Identifier: LGPL-2.1-or-later
#include "follow/confidence.hpp"

#include <algorithm>
#include <cmath>

namespace xcorr::follow {
namespace {

/// A logistic regression, rounded.
constexpr double weight_of_closeness = 8, weight_of_lead = 4, offset = -7;

/// What leads by more is not the surer for it.
constexpr double most_lead = 0.5;

/// The same for filters: of the logarithm of the sharpness.
constexpr double weight_of_sharpness = 5.7, offset_of_sharpness = -13.5;

double logistic(double sum) { return 1 / (1 + std::exp(-sum)); }

}  // namespace

double confidence(double closeness, double lead) {
  const double sum = weight_of_closeness * std::clamp(closeness, 0.0, 1.0) +
                     weight_of_lead * std::clamp(lead, -most_lead, most_lead) + offset;
  return logistic(sum);
}

double confidence(double sharpness) {
  return sharpness > 0 ? logistic(weight_of_sharpness * std::log(sharpness) + offset_of_sharpness)
                       : 0;
}

}  // namespace xcorr::follow
