// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The lock of an element's streaming thread, held for a scope.
#pragma once

#include <gst/base/gstbasetransform.h>

namespace cudaxcorr {

/// The sink pad's stream lock. GStreamer holds it for buffers and for serialised events and
/// queries, but has let go of it when it starts and stops the element: a query, or a FLUSH_STOP
/// that had been waiting, may then come at the same time.
class StreamLock {
 public:
  explicit StreamLock(gpointer element) : pad_(GST_BASE_TRANSFORM_SINK_PAD(element)) {
    GST_PAD_STREAM_LOCK(pad_);
  }
  ~StreamLock() { GST_PAD_STREAM_UNLOCK(pad_); }
  StreamLock(const StreamLock&) = delete;

 private:
  GstPad* pad_;
};

}  // namespace cudaxcorr
