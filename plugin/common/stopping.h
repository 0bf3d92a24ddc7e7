// SPDX-License-Identifier: LGPL-2.1-or-later
//
// When an element's computations stop: as soon as it is stopped or flushed, since GStreamer waits
// for its streaming thread then.
#pragma once

#include <gst/gst.h>

#include <xcorr/stop.hpp>

namespace cudaxcorr {

class Stopping {
 public:
  /// Before the base class changes the state.
  void heed(GstStateChange change) {
    if (change == GST_STATE_CHANGE_PAUSED_TO_READY) stop_.request();
    if (change == GST_STATE_CHANGE_READY_TO_PAUSED) stop_.withdraw();
  }
  /// Before an event is handled.
  void heed(const GstEvent* event) {
    if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START) stop_.request();
    if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) stop_.withdraw();
  }
  /// What computations in the streaming thread heed.
  const xcorr::Stop* request() const { return &stop_; }

 private:
  xcorr::Stop stop_;
};

}  // namespace cudaxcorr
