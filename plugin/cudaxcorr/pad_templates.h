// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the element's pads take and give.
#pragma once

#include <gst/gst.h>

namespace cudaxcorr {

/// The sink and the source, with the same caps, and the request pad `response`.
void add_pad_templates(GstElementClass* klass);

}  // namespace cudaxcorr
