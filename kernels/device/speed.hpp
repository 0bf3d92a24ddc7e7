// SPDX-License-Identifier: LGPL-2.1-or-later
//
// About how fast a device is, for estimates of what a frame will cost. The figures are those of
// docs/performance.md, rounded to the slower side; they need not be right by more than a factor of
// two or three.
#pragma once

#include <cstdint>

#include <xcorr/budget.hpp>
#include <xcorr/device.hpp>

namespace xcorr {

struct Speed {
  double products;  ///< of two pixels, multiplied and added, a second
  double points;    ///< of a Fourier transform there and back, a second
  double adds;      ///< of arrays in memory, a second
};

Speed speed_of(const Device& device, ElementType type);

/// Of bytes, that a product of two words is made of where halves of pixels are multiplied.
inline constexpr int byte_products = 4;

/// over_budget where a frame takes longer than max_work permits; `what` says which task.
Status check_work(double seconds, const Budget& budget, const std::string& what);

}  // namespace xcorr
