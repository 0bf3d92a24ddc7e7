// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Without the library of GStreamer 1.24.
#include "cudaxcorr/analytics.h"

namespace cudaxcorr {

void attach_analytics(GstBuffer*, const FrameResult&) {}

}  // namespace cudaxcorr
