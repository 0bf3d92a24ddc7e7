// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What went wrong, in GStreamer's terms. fault_of() is the one place where a Status of the library
// becomes a GStreamer error; post() the one place where errors and warnings go to the bus.
#pragma once

#include <string>

#include <gst/gst.h>

#include <xcorr/types.hpp>

namespace cudaxcorr {

struct Fault {
  GQuark domain;
  int code;
  std::string text;  ///< names the thing that failed
};

Fault fault_of(const xcorr::Status& status);

/// `type`: GST_MESSAGE_ERROR or GST_MESSAGE_WARNING. Not under the object lock.
void post(GstElement* element, GstMessageType type, const Fault& fault);

}  // namespace cudaxcorr
