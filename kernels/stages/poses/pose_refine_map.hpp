// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where the pixels of a template lie in a frame at a pose, and the smoothed frame there.
#pragma once

#include <cmath>

#include "stages/common/four_pixels.hpp"
#include "stages/common/rows.hpp"
#include "stages/poses/refined_pose.hpp"
#include "stages/poses/smooth.hpp"

namespace xcorr {

/// A frame's pixels, or those of a part of it.
template <class Pixel>
struct PoseRefineFrame {
  const Pixel* rows;
  std::int64_t pitch;  ///< bytes
  Size size;
  int left = 0, top = 0;  ///< of the first one, in the frame
};

/// The way from a template to the frame at a pose, in single precision, which suffices from a whole
/// pixel near the pose's place on.
class PoseRefineMap {
 public:
  PoseRefineMap() = default;
  XCORR_HD explicit PoseRefineMap(const RefinedPose& pose)
      : left_(whole(pose.x)),
        top_(whole(pose.y)),
        x_(static_cast<float>(pose.x - left_)),
        y_(static_cast<float>(pose.y - top_)),
        across_(static_cast<float>(pose.scale * pose.cosine)),
        down_(static_cast<float>(pose.scale * pose.sine)) {}

  /// The smoothed frame at the place (u, v) from the template's centre. What lies outside is as the
  /// nearest pixel.
  template <class Pixel, class Read>
  XCORR_HD float smoothed_at(const PoseRefineFrame<Pixel>& frame, float u, float v,
                             Read read) const {
    const float x = x_ + (across_ * u + down_ * v), y = y_ + (across_ * v - down_ * u);
    const float whole_x = floorf(x), whole_y = floorf(y);
    const auto [rows, pitch, extent, part_left, part_top] = frame;
    const Size size = extent;  // clang 14 lets no lambda have a binding
    const int left = left_ - part_left + static_cast<int>(whole_x) - 1;
    const int top = top_ - part_top + static_cast<int>(whole_y) - 1;
    const SplineWeights<float> across(x - whole_x), down(y - whole_y);
    float sum = 0;
    const auto add = [&](int j, const FourPixels<Pixel>& row) {
      float in_row = 0;
      XCORR_UNROLL
      for (int i = 0; i < 4; ++i) in_row += across.of[i] * float(row.of[i]);
      sum += down.of[j] * in_row;
    };
    if (left >= 0 && top >= 0 && left + 4 + Read::past <= size.width && top + 4 <= size.height) {
      const Pixel* const first = row_of<Pixel>(rows, pitch, top) + left;
      XCORR_UNROLL
      for (int j = 0; j < 4; ++j) add(j, read(row_of<Pixel>(first, pitch, j)));
    } else {
      const auto clamped = [](int i, int length) {
        return i < 0 ? 0 : i < length ? i : length - 1;
      };
      XCORR_UNROLL
      for (int j = 0; j < 4; ++j) {
        const Pixel* const row = row_of<Pixel>(rows, pitch, clamped(top + j, size.height));
        const auto at = [&](int i) { return row[clamped(left + i, size.width)]; };
        add(j, {at(0), at(1), at(2), at(3)});
      }
    }
    return sum;
  }

 private:
  /// Far outside nothing is different, and integers end.
  XCORR_HD static int whole(double x) {
    constexpr int farthest = 1 << 24;
    return static_cast<int>(floor(x < -farthest ? -farthest : x > farthest ? farthest : x));
  }

  int left_, top_;
  float x_, y_, across_, down_;
};

}  // namespace xcorr
