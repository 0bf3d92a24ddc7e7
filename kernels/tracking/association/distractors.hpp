// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What looks like the targets of a template but is not one of them, since it was seen while all of
// them were seen elsewhere. A lost target is not where one of these is.
#pragma once

#include <cstdint>
#include <vector>

#include "tracking/association/trace.hpp"

namespace xcorr::follow {

class Distractors {
 public:
  /// Those that are among these peaks are there now. Takes their peaks away and returns them.
  std::vector<const Peak*> see(std::vector<const Peak*>& peaks, std::uint64_t frame);

  /// One is there, whether it is known or new. Of too many the one that was not seen for the
  /// longest time is forgotten.
  void note(const Peak& peak, std::uint64_t frame);

  /// Whether one of them is expected there.
  bool has(const Peak& peak, std::uint64_t frame) const;

  /// Those that may be anywhere by now, and those where a target is.
  void forget_lost(std::uint64_t frame);
  void forget(const Peak& target, std::uint64_t frame);
  void forget_all() { traces_.clear(); }

 private:
  std::vector<Trace> traces_;
};

}  // namespace xcorr::follow
