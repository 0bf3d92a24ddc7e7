// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Numbers as halves (IEEE 754 binary16), where neither a GPU's instructions nor its headers are at
// hand: in tables that the compiler makes, and in the emulation of a GPU.
#pragma once

#include <bit>
#include <cstdint>

namespace xcorr::cuda {

/// The bits of the nearest half, of two as near the even one; of what is too large, infinity.
constexpr std::uint16_t half_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff, exponent = size >> 23;
  constexpr std::uint32_t least = 113, most = 143;  // exponents of halves that are not subnormal
  const auto shifted = [](std::uint32_t number, std::uint32_t by) {
    return (number + (1u << (by - 1)) - 1 + (number >> by & 1)) >> by;
  };
  std::uint32_t half = 0;
  if (exponent >= most)
    half = 0x7c00;
  else if (exponent >= least)
    half = shifted(size - ((least - 1) << 23), 13);
  else if (exponent + 12 > least)
    half = shifted((size & 0x7fffff) | 0x800000, 126 - exponent);
  return static_cast<std::uint16_t>(sign | half);
}

/// Two of them, the first one in the lower bits.
constexpr std::uint32_t pair_of_halves(std::uint16_t first, std::uint16_t second) {
  return first | std::uint32_t{second} << 16;
}

}  // namespace xcorr::cuda
