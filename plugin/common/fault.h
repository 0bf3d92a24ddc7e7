// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What went wrong, in GStreamer's terms. fault_of() is the one place where a Status of the library
// becomes a GStreamer error.
#pragma once

#include <source_location>
#include <string>

#include <gst/gst.h>

#include <xcorr/types.hpp>

namespace cudaxcorr {

struct Fault {
  GQuark domain;
  int code;
  std::string text;  ///< names the thing that failed
  std::source_location where =
      std::source_location::current();  ///< for debugging: where it was noticed
};

Fault fault_of(const xcorr::Status& status,
               std::source_location where = std::source_location::current());

/// Messages on the bus. Not under the object lock.
void post_error(gpointer element, const Fault& fault);
void post_warning(gpointer element, const Fault& fault);

}  // namespace cudaxcorr
