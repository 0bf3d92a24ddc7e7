// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The templates of a matcher in host memory: dense copies and their sums.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "variant.hpp"

namespace xcorr {

struct BankTemplate {
  ElementType type;
  Size size;
  std::vector<std::byte> pixels;  ///< dense
  /// What correlate multiplies with, see Buffers::rights. Empty: pixels.
  std::vector<std::byte> operand;
  RightSums sums;
};

/// A template's largest number of pixels: past it n^2 * 255^2 leaves 63 bits (see score.hpp).
inline constexpr std::int64_t max_template_pixels = 11'900'000;

/// Copies the views. Errors: invalid_argument.
Result<std::vector<BankTemplate>> make_bank(std::span<const MatrixView> views);

/// Positions in the bank by size (width, height) of what fits into `space`.
using BankGroups = std::map<std::pair<int, int>, std::vector<std::uint32_t>>;
BankGroups groups_by_size(const std::vector<BankTemplate>& bank, Size space);

/// The templates as they are after the prefilter.
Result<std::vector<BankTemplate>> smoothed(std::span<const BankTemplate> bank, double sigma);

}  // namespace xcorr
