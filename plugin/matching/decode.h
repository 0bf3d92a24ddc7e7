// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Images from files that a stranger may have made. Reading and decoding are done in a thread of
// their own, since neither a file system nor a plugin can be trusted to come to an end: a thread
// that does not is left alone.
#pragma once

#include <string>

#include "matching/image_pipeline.h"

namespace cudaxcorr {

/// The file's first image, as raw video. Null with the reason if there is none, if it is not
/// complete or if it has more pixels. Blocks for ten seconds at most.
DecodedImage decode(const std::string& file, unsigned max_pixels, std::string& reason);

}  // namespace cudaxcorr
