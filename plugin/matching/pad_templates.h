// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The pads that frames enter and leave by, and the formats that they take.
#pragma once

#include <gst/gst.h>

namespace cudaxcorr {

void add_pad_templates(GstElementClass* klass);

}  // namespace cudaxcorr
