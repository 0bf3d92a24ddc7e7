// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the streams of pipeline_bench show: a rough background that scrolls and a patch of other
// pixels that goes round in a circle over it. Frames repeat after `distinct` of them, so that they
// are drawn once and then cost nothing. Where the patch lies is known of each.
#pragma once

#include <cstdint>
#include <vector>

#include <gst/video/video.h>

#include <xcorr/device.hpp>

namespace bench {

class Scene {
 public:
  static constexpr int distinct = 64;

  /// Sides are even: NV12. Another number, another patch.
  Scene(xcorr::Size size, int patch_side, unsigned patch_number = 2);

  /// Of frames at that rate. The caller's.
  GstCaps* caps(int rate) const;
  std::size_t bytes() const { return info_.size; }

  /// Into a buffer of that many bytes.
  void draw(int frame, GstBuffer* buffer) const;
  /// The patch's top-left corner.
  struct Place {
    int x, y;
  };
  Place place(int frame) const;
  /// The patch as a template. The caller's.
  GstSample* patch() const;

 private:
  GstVideoInfo info_;
  int side_;
  int texture_width_;
  std::vector<std::uint8_t> texture_, patch_;
};

}  // namespace bench
