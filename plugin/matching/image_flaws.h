// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the bytes of a file tell about its image and decoders do not: they decode some kinds wrongly
// without an error, allocate others before they announce the size, and give no reason when they
// fail with others.
#pragma once

#include <string>
#include <string_view>

namespace cudaxcorr {

/// Why the image in this file is not to be decoded; empty: nothing is known against it.
std::string flaw_of(std::string_view file, unsigned max_pixels);

/// What the image is, with an article, if it is of a kind that decoders are often missing for;
/// else empty.
std::string kind_of(std::string_view file);

/// How the image is to be turned to lie as viewers show it, as Exif and TIFF count: 1, as it is,
/// to 8.
unsigned orientation_of(std::string_view file);

}  // namespace cudaxcorr
