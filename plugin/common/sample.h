// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A GstSample with shared ownership.
#pragma once

#include <memory>

#include <gst/gst.h>

namespace cudaxcorr {

using Sample = std::shared_ptr<GstSample>;

/// Takes over a reference; null stays null.
inline Sample take_sample(GstSample* sample) {
  return sample ? Sample(sample, gst_sample_unref) : nullptr;
}

}  // namespace cudaxcorr
