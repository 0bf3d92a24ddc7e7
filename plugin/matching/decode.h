// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pictures from files, decoded by whichever GStreamer decoder knows the format.
#pragma once

#include <string>

#include "common/sample.h"

namespace cudaxcorr {

/// The file's first picture, as raw video. Null with the reason when there is none or not all of
/// it. Blocks for as long as decoding takes, at most ten seconds.
Sample decode(const std::string& file, std::string& reason);

}  // namespace cudaxcorr
