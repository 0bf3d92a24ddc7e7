// SPDX-License-Identifier: LGPL-2.1-or-later
//
// From the weights that users give to those that the filter stage works with.
#pragma once

#include "variant.hpp"

namespace xcorr {

/// Errors: invalid_argument.
Result<FilterWeights> filter_weights(ElementType type, const AxisWeights& across,
                                     const AxisWeights& down, ElementType sums);

}  // namespace xcorr
