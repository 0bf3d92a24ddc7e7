// SPDX-License-Identifier: LGPL-2.1-or-later
//
// kernel=tune: the correlate variant that is fastest at the user's own problem on this device. It
// is what was found before (by this object, or as tune_cache.hpp has it), otherwise what wins a
// race of all that are able (tune_race.hpp). A problem is a group of templates of one size with
// what its speed depends on.
#pragma once

#include <string>
#include <vector>

#include "match/tune_cache.hpp"
#include "match/tune_race.hpp"

namespace xcorr {

struct TuneQuestion;

class Tuner {
 public:
  /// The kernels for a plan of these; takes at most 2 seconds, by the environment's
  /// XCORR_TUNE_SECONDS another time. Sizes that there was no time for are left out.
  KernelOfSize kernels(const TuneTask& task);

  /// What the last call did, for people.
  const std::string& report() const { return report_; }

 private:
  /// Answers questions from what is known, and takes those out.
  void recall(std::vector<TuneQuestion>& questions, const Device& device, KernelOfSize& kernels);
  TuneAnswers measure(const std::vector<TuneQuestion>& questions, const TuneTask& task,
                      TuneClock::time_point deadline, KernelOfSize& kernels);
  void remember(const TuneAnswers& found);
  void say(const std::string& text);

  TuneAnswers known_;
  std::string report_;
};

}  // namespace xcorr
