// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Buffers whose size comes from outside. GStreamer's own allocation ends the process when there is
// no memory.
#pragma once

#include <gst/gst.h>

namespace cudaxcorr {

/// A buffer of that many bytes, at least one, in system memory; null if there is no memory.
inline GstBuffer* new_buffer(gsize size) {
  gpointer data = g_try_malloc(size);
  return data ? gst_buffer_new_wrapped(data, size) : nullptr;
}

}  // namespace cudaxcorr
