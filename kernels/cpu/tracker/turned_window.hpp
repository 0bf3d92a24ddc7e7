// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The pixels of turned windows by vectors, equal to those of turned_pixel() to the last bit.
#pragma once

#include "stages/tracker/feature_maps.hpp"

namespace xcorr::cpu {

/// Makes the pixels of a window. \param pixels  the frame's
void read_turned_window(const stage::FeatureMaps::Problem& p, const std::uint8_t* pixels,
                        const tracker::Cropping& from, float* window);

}  // namespace xcorr::cpu
