// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a file's own bytes say against decoding the picture in it: decoders get some kinds wrong
// without saying so, and others they allocate before they announce the size.
#pragma once

#include <string>
#include <string_view>

namespace cudaxcorr {

/// Why the picture in this file is not to be decoded; empty: nothing is known against it.
std::string flaw_of(std::string_view file, unsigned max_pixels);

}  // namespace cudaxcorr
