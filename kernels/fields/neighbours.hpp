// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The neighbours of windows that lie at any places: the nearest ones, and the weights by which the
// displacements there give slopes, those of the plane that fits them best.
#pragma once

#include <span>
#include <vector>

#include "stages/fields/field.hpp"

namespace xcorr {

/// Of windows, by their upper left corners.
std::vector<FieldNeighbours> neighbours_between(std::span<const InterrogationWindow> windows);

}  // namespace xcorr
