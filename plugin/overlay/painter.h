// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Renders each mark as an image no larger than what is drawn, to be blended over the frame. Cairo
// draws, Pango sets the text.
#pragma once

#include <string>

#include <gst/video/video.h>

#include "overlay/canvas.h"
#include "overlay/marks.h"

namespace cudaxcorr {

/// Sizes are those in a frame 720 pixels high; in others they scale with the height.
struct Look {
  unsigned line_width = 3;
  unsigned color = 0;  ///< ARGB; 0: each track has its own
  std::string font = "Sans 12";
  bool show_label = true, show_id = true, show_score = true;
};

class Painter {
 public:
  /// The mark in a frame of that size; null if no part of it is inside.
  GstVideoOverlayRectangle* paint(const Mark& mark, const Look& look, int width, int height);

 private:
  Texts texts_;
};

}  // namespace cudaxcorr
