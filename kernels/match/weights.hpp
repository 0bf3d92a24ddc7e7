// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What of a mask of weights stands for it where pixels count or do not.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace xcorr {

/// 1 for the pixels that count at least half of the largest weight, and for the heaviest others as
/// far as those do not make up half of all the weight; 0 for the rest.
std::vector<std::uint8_t> heavy_ones(std::span<const std::uint8_t> weights);

}  // namespace xcorr
