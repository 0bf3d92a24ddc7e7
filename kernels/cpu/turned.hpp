// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Turned and scaled templates on the CPU.
#pragma once

#include "stages/turn.hpp"

namespace xcorr::cpu {

/// Makes a picture and its mask, of map.width x map.height.
/// \param pitch  from row to row of both
TurnedSums turned(const TurnedTemplate& from, const TurnMap& map, std::int64_t pitch,
                  std::uint8_t* picture, std::uint8_t* mask);

}  // namespace xcorr::cpu
