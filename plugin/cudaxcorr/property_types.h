// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The types of the properties that take one of several words.
#pragma once

#include <gst/gst.h>

namespace cudaxcorr {

GType method_type();
GType mask_type();
GType subpixel_type();
GType polarity_type();
GType match_on_type();
GType tracker_type();

/// Marks them as part of the plugin's interface, for its documentation.
void mark_property_types();

}  // namespace cudaxcorr
