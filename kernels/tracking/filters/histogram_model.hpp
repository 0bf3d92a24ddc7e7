// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A target's colours and those around it, as histograms (Bertinetto et al., Staple: Complementary
// Learners for Real-Time Tracking, 2016): how likely a pixel of a colour is one of the target. It
// knows nothing of where colours are, so what deforms or turns looks the same to it, other than to
// a filter; and it errs elsewhere.
#pragma once

#include <vector>

#include "stages/tracker/filter_update.hpp"
#include "tracking/filters/color_frame.hpp"

namespace xcorr::tracker {

class HistogramModel {
 public:
  /// The target is in the middle of a window.
  void learn(const ColorFrame& frame, const Cropping& window, const FilterShape& shape);

  /// The prior of a window, as the stage filter_response takes it: how likely the target's box is
  /// at each shift, the less the more its colours are around it, too.
  void find(const ColorFrame& frame, const Cropping& window, const FilterShape& shape,
            float* prior) const;

  /// Of what was learnt first and last: the Bhattacharyya coefficient of the target's histograms,
  /// 0 to 1.
  double likeness() const { return likeness_; }

  /// 0 to 1: how well colours tell the target from what is around it.
  double separation() const;

 private:
  /// Shares of the pixels that have a colour, on the target and around it.
  struct Histograms {
    std::vector<float> target = std::vector<float>(color_bins), around = target;
  };
  static Histograms histograms_of(const ColorFrame& frame, const Cropping& window,
                                  const FilterShape& shape);

  // Running means; the posterior of the target, by colour, and its means on it and around it.
  Histograms histograms_;
  std::vector<float> posterior_ = std::vector<float>(color_bins);
  double inside_ = 0, outside_ = 0;
  std::vector<float> first_;  // the target's histogram, as it was learnt first
  double likeness_ = 1;
  bool knows_ = false;
};

}  // namespace xcorr::tracker
