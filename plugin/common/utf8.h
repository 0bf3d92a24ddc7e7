// SPDX-License-Identifier: LGPL-2.1-or-later
//
// GLib and GStreamer take texts in UTF-8 only, but the name of a file may be any bytes.
#pragma once

#include <string>

#include <glib.h>

namespace cudaxcorr {

/// The text with U+FFFD for each byte that is no UTF-8.
inline std::string valid_utf8(const std::string& text) {
  gchar* valid = g_utf8_make_valid(text.data(), static_cast<gssize>(text.size()));
  std::string result = valid;
  g_free(valid);
  return result;
}

}  // namespace cudaxcorr
