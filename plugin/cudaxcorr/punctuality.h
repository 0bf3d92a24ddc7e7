// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether frames of a live source come later and later, because work on them takes longer than
// there is time. Each comes with a delay, of capture, network and decoding; what counts is how much
// longer it is than the shortest one. Passing frames on makes up for lost time at once, so a delay
// that stays all the same has another cause, and is the usual one from then on.
#pragma once

#include <optional>

#include <gst/gst.h>

namespace cudaxcorr {

class Punctuality {
 public:
  /// Whether the frame of that running time, which comes now, is late by more than `most`. Then no
  /// work must be done on it.
  bool is_late(GstClockTime running_time, GstClockTime now, GstClockTimeDiff most) {
    const GstClockTimeDiff delay = GST_CLOCK_DIFF(running_time, now);
    const bool given_up = late_since_ && now > *late_since_ + patience;
    if (!usual_delay_ || delay < *usual_delay_ || given_up) usual_delay_ = delay;
    const bool late = delay - *usual_delay_ > most;
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
