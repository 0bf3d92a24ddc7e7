// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How far windows may stick out of a picture. The left of such a match has the picture with zeros
// round it. A window is compared by those of its pixels that count and lie in the picture: what
// sums over windows are made of is 0 elsewhere, the sums of the template are over these pixels.
#pragma once

#include <xcorr/types.hpp>

#include "stages/common/host_device.hpp"

namespace xcorr {

struct Overhang {
  Rect picture = {};  ///< of the left; empty: windows lie inside the left, which is all picture
  Rect reach = {};    ///< of the left: windows lie inside
  double most = 0;    ///< the largest share of the pixels that count outside the picture

  constexpr explicit operator bool() const { return !picture.empty(); }
  /// What of a window at that place in the left lies in the picture, in its own coordinates; at 0
  /// where nothing does.
  XCORR_HD Rect seen(int x, int y, Size window) const {
    if (picture.empty()) return {0, 0, window.width, window.height};
    const Rect& p = picture;
    const auto later = [](int a, int b) { return a > b ? a : b; };
    const auto sooner = [](int a, int b) { return a < b ? a : b; };
    const int left = later(p.x - x, 0), top = later(p.y - y, 0);
    const int right = sooner(p.x + p.width - x, window.width),
              bottom = sooner(p.y + p.height - y, window.height);
    if (right <= left || bottom <= top) return {};
    return {left, top, right - left, bottom - top};
  }
  XCORR_HD bool is_in_reach(int x, int y, Size window) const {
    return x >= reach.x && y >= reach.y && x + window.width <= reach.x + reach.width &&
           y + window.height <= reach.y + reach.height;
  }
  /// Whether enough of the pixels that count lie in the picture.
  XCORR_HD static bool permits(double most, double counted, double seen) {
    return seen > 0 && counted - seen <= most * counted;
  }
};

}  // namespace xcorr
