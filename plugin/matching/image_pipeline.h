// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The first image in the contents of a file, by whichever of GStreamer's decoders knows the
// format. Only plugins that decode images and take containers apart are used, none that reads
// anything besides these contents; see docs/security.md.
#pragma once

#include <string>

#include "common/sample.h"
#include "matching/file_contents.h"

namespace cudaxcorr {

struct DecodedImage {
  Sample sample{};
  bool of_video = false;  ///< others follow it in the file

  explicit operator bool() const { return sample != nullptr; }
};

/// Null with the reason if there is no image, or it is not complete, too large, or not there in
/// time. May take longer, and even block for ever, if a plugin does not stop when it is told to.
DecodedImage decode(const Contents& contents, unsigned max_pixels, GstClockTime time_limit,
                    std::string& reason);

}  // namespace cudaxcorr
