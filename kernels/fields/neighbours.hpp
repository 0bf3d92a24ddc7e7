// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The neighbours of windows that lie at any places: the nearest ones, and the weights by which the
// displacements there give slopes, those of the plane that fits them best.
#pragma once

#include <span>
#include <vector>

#include <xcorr/types.hpp>

#include "stages/fields/field.hpp"

namespace xcorr {

/// Of windows, by their upper left corners; of equally near ones those with lower numbers. Takes
/// about as long for each of many windows, however they lie. Error: stopped.
Result<std::vector<FieldNeighbours>> neighbours_between(
    std::span<const InterrogationWindow> windows);

}  // namespace xcorr
