// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Draws a displacement field: arrows, a map of colours, and what they mean.
#pragma once

#include <gst/video/video.h>

#include "overlay/canvas.h"
#include "overlay/field_map.h"
#include "overlay/painter.h"

namespace cudaxcorr {

struct FieldLook {
  bool arrows = true;
  double arrow_scale = 0;  ///< pixels for each of the displacement; 0: by the longest
  FieldMap map = FieldMap::none;
  double map_range = 0;  ///< the last colour's value; 0: the largest
};

class FieldPainter {
 public:
  /// The field of a meta in a frame of that size, which need not be the measured one's; null if
  /// there is nothing to draw.
  GstVideoOverlayRectangle* paint(const GstStructure* meta, const FieldLook& field,
                                  const Look& look, int width, int height);

 private:
  Texts texts_;
};

}  // namespace cudaxcorr
