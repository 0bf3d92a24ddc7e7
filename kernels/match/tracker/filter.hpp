// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The filter of one target, over the channels of a window's cells.
#pragma once

#include <memory>
#include <span>

namespace xcorr::tracker {

struct Answer {
  double x = 0, y = 0;                 ///< where it is, from the window's middle, cells
  double response = 0, sharpness = 0;  ///< as of Sight
};

class Filter {
 public:
  virtual ~Filter() = default;
  /// Takes up the channels of a window with the target in its middle.
  virtual void train(std::span<const float> channels) = 0;
  virtual Answer locate(std::span<const float> channels) const = 0;
};

/// For a target of that many cells.
std::unique_ptr<Filter> make_filter(double width, double height);

}  // namespace xcorr::tracker
