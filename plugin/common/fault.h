// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What went wrong, in GStreamer's terms. fault_of() is the one place where a Status of the library
// becomes a GStreamer error.
#pragma once

#include <string>

#include <gst/gst.h>

#include <xcorr/types.hpp>

namespace cudaxcorr {

/// A place in the sources; std::source_location is missing in clang 14.
struct Where {
  const char *file, *function;
  int line;

  static Where here(const char* file = __builtin_FILE(),
                    const char* function = __builtin_FUNCTION(), int line = __builtin_LINE()) {
    return {file, function, line};
  }
};

struct Fault {
  GQuark domain;
  int code;
  std::string text;             ///< names the thing that failed
  Where where = Where::here();  ///< for debugging: where it was noticed
};

Fault fault_of(const xcorr::Status& status, Where where = Where::here());

/// Messages on the bus. Not under the object lock.
void post_error(gpointer element, const Fault& fault);
void post_warning(gpointer element, const Fault& fault);

}  // namespace cudaxcorr
