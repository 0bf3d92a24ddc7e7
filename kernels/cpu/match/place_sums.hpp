// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sums over two pictures of bytes of one size, by the calling thread: in one pass and with little
// code, for what compares one place between other work.
#pragma once

#include "cpu/common/common.hpp"

namespace xcorr::cpu {

struct PlaceSums {
  std::uint32_t product = 0;                     ///< sum f t
  std::uint32_t left_sum = 0, left_squares = 0;  ///< sum f, sum f^2
  std::uint32_t right_sum = 0, right_squares = 0;
};

/// Pixels of which no sum exceeds 32 bits.
inline constexpr std::int64_t most_place_pixels = ~std::uint32_t{0} / (255 * 255);

PlaceSums place_sums(const Matrix<std::uint8_t>& left, const Matrix<std::uint8_t>& right);

}  // namespace xcorr::cpu
