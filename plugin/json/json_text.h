// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Structures as JSON. All fields are converted by their types, so new ones need no change here.
#pragma once

#include <initializer_list>
#include <string>

#include <gst/gst.h>

namespace cudaxcorr {

/// One object, on one line, with the fields of all these structures, of which some may be null.
/// GBytes are arrays of 32-bit floats. Unknown times (GST_CLOCK_TIME_NONE) and numbers that JSON
/// does not have are null.
std::string json_text(std::initializer_list<const GstStructure*> structures);

}  // namespace cudaxcorr
