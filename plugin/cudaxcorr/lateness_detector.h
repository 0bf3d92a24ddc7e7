// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Detects that frames of a live source arrive later and later because analysis takes longer than
// there is time. Each frame has some delay from capture, network and decoding; what counts is by
// how much it exceeds the shortest one seen. Passing frames unanalysed makes up for lost time
// quickly, so a delay that persists has another cause and becomes the usual one.
#pragma once

#include <optional>

#include <gst/gst.h>

namespace cudaxcorr {

class LatenessDetector {
 public:
  /// Whether the frame of that running time, arriving now, is late by more than `max_lateness`; if
  /// so it must not be analysed.
  bool is_late(GstClockTime running_time, GstClockTime now, GstClockTimeDiff max_lateness) {
    const GstClockTimeDiff delay = GST_CLOCK_DIFF(running_time, now);
    const bool given_up = late_since_ && now > *late_since_ + patience;
    if (!usual_delay_ || delay < *usual_delay_ || given_up) usual_delay_ = delay;
    // Not negative, but perhaps too large for a signed number: timestamps may be anything.
    const auto excess = static_cast<guint64>(delay) - static_cast<guint64>(*usual_delay_);
    const bool late = excess > static_cast<guint64>(max_lateness);
    if (!late)
      late_since_.reset();
    else if (!late_since_)
      late_since_ = now;
    return late;
  }

 private:
  static constexpr GstClockTime patience = GST_SECOND;

  std::optional<GstClockTimeDiff> usual_delay_;
  std::optional<GstClockTime> late_since_;
};

}  // namespace cudaxcorr
