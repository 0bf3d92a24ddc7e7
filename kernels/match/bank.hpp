// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The templates of a matcher: dense copies in host memory, or those that live on the device.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <xcorr/live_template.hpp>

namespace xcorr {

struct BankTemplate {
  ElementType type;
  Size size;
  std::vector<std::byte> pixels;  ///< dense; empty: they are in `live`
  std::shared_ptr<const LiveTemplate> live;
};

/// A template's largest number of pixels: beyond it n^2 * 255^2 exceeds 63 bits (see score.hpp).
inline constexpr std::int64_t max_template_pixels = 11'900'000;

/// Copies the views. Errors: invalid_argument.
Result<std::vector<BankTemplate>> make_bank(std::span<const MatrixView> views);

/// Shares the templates, which must belong to that backend. Errors: invalid_argument.
Result<std::vector<BankTemplate>> make_bank(
    std::span<const std::shared_ptr<const LiveTemplate>> templates, Backend backend);

/// Positions in the bank, by size (width, height), of the templates that fit into `space`.
using BankGroups = std::map<std::pair<int, int>, std::vector<std::uint32_t>>;
BankGroups groups_by_size(const std::vector<BankTemplate>& bank, Size space);

}  // namespace xcorr
