// SPDX-License-Identifier: LGPL-2.1-or-later
//
// kernel=tune: the variant that is fastest for the user's own problem on this device. It is the
// result of an earlier race (by this object, or from the file of tune_cache.hpp), otherwise the
// winner of a race of all able variants (tune_race.hpp). A problem is a group of templates of one
// size and everything else that its speed depends on.
#pragma once

#include <string>
#include <vector>

#include "match/tune_cache.hpp"
#include "match/tune_race.hpp"

namespace xcorr {

struct TuneQuestion;

class Tuner {
 public:
  /// The kernels for a plan of this task; takes at most 2 seconds, or XCORR_TUNE_SECONDS of the
  /// environment. Sizes for which there was no time are left out.
  KernelOfGroup kernels(const TuneTask& task);

  /// What the last call did, as text for a log.
  const std::string& report() const { return report_; }

 private:
  /// Answers questions from known results, and removes them.
  void recall(std::vector<TuneQuestion>& questions, const Device& device, KernelOfGroup& kernels);
  TuneAnswers measure(const std::vector<TuneQuestion>& questions, const TuneTask& task,
                      TuneClock::time_point deadline, KernelOfGroup& kernels);
  void remember(const TuneAnswers& found);
  void say(const std::string& text);

  TuneAnswers known_;
  std::string report_;
};

}  // namespace xcorr
