// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pictures from files, by whichever of GStreamer's decoders knows the format.
#pragma once

#include <string>

#include "common/sample.h"

namespace cudaxcorr {

/// The file's first picture, as raw video. Null with the reason if there is none or it is not
/// complete. Blocks while it is decoded, ten seconds at most.
Sample decode(const std::string& file, std::string& reason);

}  // namespace cudaxcorr
