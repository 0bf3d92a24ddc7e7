// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The pixels of turned windows by their definition, in double precision.
#pragma once

#include <vector>

#include "stages/tracker/feature_maps.hpp"

namespace xcorr::cpu {

std::vector<double> turned_window(const stage::FeatureMaps::Problem& p, const std::uint8_t* pixels,
                                  const tracker::Cropping& from);

}  // namespace xcorr::cpu
