// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which pixels of a template count: those that the alpha of its image says, that another image
// does, or that lie in a disc. Or how much each does.
#pragma once

#include <cstdint>
#include <vector>

#include <xcorr/types.hpp>

#include "common/mapped_frame.h"

namespace cudaxcorr {

/// Dense; a pixel counts where its byte is not 0, or as often as it says. Without bytes all pixels
/// count.
using Mask = std::vector<std::uint8_t>;

enum class MaskKind { none, alpha, disc, weights };

/// The least alpha of a pixel that counts, and the least weight of one where weights cannot be
/// used.
inline constexpr std::uint8_t opaque = 128;

/// Where the alpha of raw video in host memory is at least 128 of 255 or, if it is so nowhere, at
/// least half of its largest, as of a logo that a channel blends in; without alpha everywhere.
Mask opaque_pixels(const MappedFrame& image);

/// Where raw video in host memory is neither black nor transparent.
Mask bright_pixels(const MappedFrame& image);

/// Weights of 8 bits: the alpha of raw video in host memory; nothing without alpha.
Mask alpha_weights(const MappedFrame& image);
/// Its brightness, that of the brightest component, times its alpha.
Mask bright_weights(const MappedFrame& image);

/// The pixels whose centres lie in the ellipse that is as large as the image, less `inset` pixels
/// at each edge.
Mask disc(xcorr::Size size, unsigned inset);

}  // namespace cudaxcorr
