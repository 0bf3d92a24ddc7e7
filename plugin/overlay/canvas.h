// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tools for images over a frame: a part of the frame on which Cairo draws, and text, which
// Pango sets.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>

#include <gst/video/video.h>
#include <pango/pangocairo.h>

namespace cudaxcorr {

/// The height of the frame that sizes are for.
inline constexpr double reference_height = 720;
/// Smaller text would be illegible.
inline constexpr double min_text_scale = 0.6;

/// In whole pixels, so that edges are sharp.
inline double scaled(double size, double scale) { return std::max(1.0, std::round(size * scale)); }

struct Box {
  double left, top, right, bottom;

  Box outset(double by) const { return {left - by, top - by, right + by, bottom + by}; }
  double width() const { return right - left; }
  double height() const { return bottom - top; }
};

inline Box unite(const Box& a, const Box& b) {
  return {std::min(a.left, b.left), std::min(a.top, b.top), std::max(a.right, b.right),
          std::max(a.bottom, b.bottom)};
}

/// Rounded outwards to whole pixels, inside the frame.
inline Box clip(const Box& box, int width, int height) {
  return {std::max(0.0, std::floor(box.left)), std::max(0.0, std::floor(box.top)),
          std::min<double>(width, std::ceil(box.right)),
          std::min<double>(height, std::ceil(box.bottom))};
}

/// ARGB.
void set_color(cairo_t* cairo, guint32 argb);

/// An image of that part of the frame; `draw` uses the frame's coordinates. Null if it is too
/// large for Cairo or for memory.
GstVideoOverlayRectangle* make_image(const Box& part, const std::function<void(cairo_t*)>& draw);

/// Lays out one text at a time.
class Texts {
 public:
  /// Valid until the next call. Sizes in points are multiplied by `scale`.
  PangoLayout* layout(const std::string& text, const std::string& font, double scale);

 private:
  struct Unref {
    void operator()(gpointer object) const { g_object_unref(object); }
  };

  std::unique_ptr<PangoLayout, Unref> layout_;
};

}  // namespace cudaxcorr
