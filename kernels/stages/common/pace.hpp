// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What every launch looks at: whether its thread's work is to stop, and whether a GPU may be given
// more before it has done what it has.
#pragma once

#include <xcorr/device.hpp>
#include <xcorr/stop.hpp>

namespace xcorr {

/// Code::stopped where this thread's work is to stop, see StopScope.
Status check_stop();

/// Launches of frames that take longer, by an estimate in seconds, wait for each other.
inline constexpr double longest_unpaced = 0.2;

/// While it lives, launches of this thread on a GPU wait for each other if `paced`: what has been
/// enqueued cannot be taken back, so of long work little is.
class PacedScope {
 public:
  explicit PacedScope(bool paced);
  PacedScope(const PacedScope&) = delete;
  ~PacedScope();

 private:
  bool outer_;
};

/// After a launch: waits for it where launches are paced and may be stopped.
Status keep_pace(Backend backend, Stream stream);

}  // namespace xcorr
