// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pictures from files, decoded by whichever GStreamer decoder knows the format.
#pragma once

#include <memory>
#include <string>

#include <gst/gst.h>

namespace cudaxcorr {

using Sample = std::shared_ptr<GstSample>;

/// Takes over a reference; null stays null.
inline Sample take_sample(GstSample* sample) {
  return sample ? Sample(sample, gst_sample_unref) : nullptr;
}

/// The file's first picture, as raw video. Null with the reason when there is none or not all of
/// it. Blocks for as long as decoding takes, at most ten seconds.
Sample decode(const std::string& file, std::string& reason);

}  // namespace cudaxcorr
