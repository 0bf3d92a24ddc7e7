// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Masks of templates: which pixels count, of a template and of every window that it is compared
// with. A mask is one byte per pixel, 1 where it counts and 0 elsewhere, dense, of the template's
// size. What products are made of is 0 where the mask is, so they need no mask; window sums and
// means do.
// A mask of weights says how often a pixel counts, 0 to 255 times. All formulas of scores hold for
// it, with the sum of weights as the number of pixels; products are of templates times weights.
#pragma once

#include <vector>

#include "stages/common/stage.hpp"

namespace xcorr {

/// What a stage's problem says of the mask of its templates.
struct Masking {
  std::int64_t counted = 0;  ///< pixels that count, so often; 0: there is no mask, all do
  std::int64_t runs = 0;     ///< of adjacent ones in a row; 0: not known
  bool weighted = false;     ///< the mask is one of weights

  constexpr explicit operator bool() const { return counted > 0; }
  /// Weights are of templates of bytes.
  constexpr bool allows(ElementType type) const { return !weighted || type == ElementType::u8; }
  constexpr std::int64_t pixels(Size size) const { return counted ? counted : size.area(); }
  /// Of the mask's bytes.
  constexpr Extent extent(Size size) const {
    return elements(ElementType::u8, counted ? size.area() : 0);
  }
};

/// Of a mask, dense; an empty one stands for one in which all pixels count.
Masking masking_of(std::span<const std::uint8_t> mask, Size size);

/// The rectangle round all that counts, of a mask that is not empty.
Rect counted_part(std::span<const std::uint8_t> mask, Size size);

/// A part of a mask whose rows have so many pixels.
std::vector<std::uint8_t> part_of(std::span<const std::uint8_t> mask, int width, const Rect& part);

/// The mask of the pixels round which, `inset` pixels in every direction, all count. An empty
/// `mask` stands for one in which all do.
std::vector<std::uint8_t> inset_mask(std::span<const std::uint8_t> mask, Size size, int inset);

}  // namespace xcorr
