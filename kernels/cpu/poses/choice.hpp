// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The choice among candidates on the CPU. Few of many are wanted, so some at a time are sorted
// until enough are kept.
#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "stages/poses/prune_candidates.hpp"

namespace xcorr::cpu {

/// The candidates so far.
class Chosen {
 public:
  Chosen(const PoseChoice& choice, const PoseSteps& steps, int level)
      : choice_(choice), steps_(steps), level_(level), least_(choice.least) {}

  /// Candidates come best first; false: no more are wanted.
  bool take(const PoseCandidate& one) {
    if (std::ssize(kept_) == choice_.most || one.similarity < least_) return false;
    int crowd = 0;
    if (std::ranges::any_of(kept_, [&](const PoseCandidate& kept) {
          return choice_.hides(steps_, level_, kept, one, crowd);
        }))
      return true;
    kept_.push_back(one);
    if (std::ssize(apart_) < choice_.wanted &&
        std::ranges::all_of(
            apart_, [&](const PoseCandidate& other) { return choice_.apart(one, other); })) {
      apart_.push_back(one);
      if (std::ssize(apart_) == choice_.wanted)
        least_ = std::max(least_, one.similarity - choice_.margin);
    }
    return true;
  }
  const std::vector<PoseCandidate>& kept() const { return kept_; }

 private:
  const PoseChoice& choice_;
  const PoseSteps& steps_;
  int level_;
  double least_;
  std::vector<PoseCandidate> kept_, apart_;
};

/// Gives `take` the elements in that order until it returns false.
template <class Element, class Before, class Take>
void take_in_order(std::vector<Element>& elements, Before before, const Take& take) {
  constexpr std::ptrdiff_t chunk = 2048;
  for (auto from = elements.begin(); from != elements.end();) {
    const auto to = from + std::min(chunk, elements.end() - from);
    if (to != elements.end()) std::nth_element(from, to, elements.end(), before);
    std::sort(from, to, before);
    for (; from != to; ++from)
      if (!take(*from)) return;
  }
}

}  // namespace xcorr::cpu
