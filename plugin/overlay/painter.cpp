// SPDX-License-Identifier: LGPL-2.1-or-later
#include "overlay/painter.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "overlay/canvas.h"

namespace cudaxcorr {
namespace {

constexpr double text_margin = 3;  // around the text
constexpr double rim_width = 1;    // dark, beside a line, for contrast on any background

/// A mark laid out in pixels of the frame.
struct Drawing {
  Box box, text;  ///< the text's background; empty: no text
  std::vector<Mark::Point> corners;
  bool turned;
  std::vector<Mark::Point> trail;
  guint32 color;                   ///< ARGB
  std::vector<double> dashes;      ///< on, off; none: a line without gaps
  double line_width, rim, margin;  ///< pixels; the margin is the text's

  double reach() const { return line_width + 2 * rim; }
  /// All that is drawn, the lines' width included.
  Box bounds() const {
    Box all = box;
    if (text.width() > 0) all = unite(all, text);
    if (turned) all = all.outset(4 * line_width);  // the mark of the upper edge
    for (const Mark::Point& p : trail) all = unite(all, {p.x, p.y, p.x, p.y});
    return all.outset(reach());
  }
};

// ---- layout ---------------------------------------------------------------------------------

/// Okabe and Ito's palette, which can be told apart with any kind of colour vision.
guint32 color_of(const Mark& mark, const Look& look) {
  static constexpr guint32 palette[] = {0xffe69f00, 0xff56b4e9, 0xff009e73, 0xfff0e442,
                                        0xff0072b2, 0xffd55e00, 0xffcc79a7};
  if (look.color != 0) return look.color;
  const std::uint64_t index = mark.id ? mark.id - 1 : mark.template_index;
  return palette[index % std::size(palette)];
}

/// Lines without gaps are for what is seen and confirmed.
std::vector<double> dashes_of(const Mark& mark, double line_width) {
  if (mark.is_tentative()) return {line_width, line_width};
  if (mark.lost) return {4 * line_width, 3 * line_width};
  return {};
}

/// Without score and confidence for lost targets, which have none in this frame.
std::string text_of(const Mark& mark, const Look& look) {
  std::string text;
  const auto add = [&](const std::string& word) {
    if (!word.empty()) text.append(text.empty() ? "" : " ").append(word);
  };
  if (look.show_label) add(mark.label);
  if (look.show_id && mark.id) add(std::string("#").append(std::to_string(mark.id)));
  if (look.show_score && !mark.lost) {
    gchar score[G_ASCII_DTOSTR_BUF_SIZE];
    add(g_ascii_formatd(score, sizeof score, "%.2f", mark.score));
    if (mark.confidence >= 0) add(std::to_string(std::lround(100 * mark.confidence)) + "%");
  }
  if (!text.empty()) add(mark.state);
  return text;
}

/// Above the box or, at the frame's top, below it; inside the frame if it fits at all.
Box place_text(PangoLayout* layout, const Box& box, double margin, int frame_width,
               int frame_height) {
  int text_width, text_height;
  pango_layout_get_pixel_size(layout, &text_width, &text_height);
  const double width = text_width + 2 * margin, height = text_height + 2 * margin;
  const double x = std::max(0.0, std::min(box.left, frame_width - width));
  double y = box.top - height;
  if (y < 0) y = std::min(box.bottom, std::max(0.0, frame_height - height));
  return {x, y, x + width, y + height};
}

// ---- drawing --------------------------------------------------------------------------------

guint32 text_color(guint32 background) {
  const guint32 r = background >> 16 & 0xff, g = background >> 8 & 0xff, b = background & 0xff;
  return 77 * r + 150 * g + 29 * b > 128 * 256 ? 0xff000000 : 0xffffffff;
}

void stroke(cairo_t* cairo, const Drawing& drawing) {
  cairo_set_line_width(cairo, drawing.reach());
  cairo_set_source_rgba(cairo, 0, 0, 0, 0.4);
  cairo_stroke_preserve(cairo);
  cairo_set_line_width(cairo, drawing.line_width);
  set_color(cairo, drawing.color);
  cairo_stroke(cairo);
}

/// A triangle on the middle of the template's upper edge points up, as the template has it.
void add_upper_edge_mark(cairo_t* cairo, const Drawing& drawing) {
  const Mark::Point &left = drawing.corners[0], &right = drawing.corners[1];
  const double x = (left.x + right.x) / 2, y = (left.y + right.y) / 2;
  const double across = right.x - left.x, down = right.y - left.y;
  const double length = std::hypot(across, down);
  if (length <= 0) return;
  const double size = std::min(4 * drawing.line_width, length / 4) / length;
  cairo_move_to(cairo, x - size * across, y - size * down);
  cairo_line_to(cairo, x + size * down, y - size * across);
  cairo_line_to(cairo, x + size * across, y + size * down);
}

/// The lines of an upright one are around the place, not over it.
void draw_box(cairo_t* cairo, const Drawing& drawing) {
  const Box box = drawing.box.outset(drawing.reach() / 2);
  cairo_set_dash(cairo, drawing.dashes.data(), static_cast<int>(drawing.dashes.size()), 0);
  cairo_set_line_join(cairo, CAIRO_LINE_JOIN_MITER);
  if (drawing.turned) {
    for (const Mark::Point& corner : drawing.corners) cairo_line_to(cairo, corner.x, corner.y);
    cairo_close_path(cairo);
    add_upper_edge_mark(cairo, drawing);
  } else {
    cairo_rectangle(cairo, box.left, box.top, box.width(), box.height());
  }
  stroke(cairo, drawing);
}

void draw_trail(cairo_t* cairo, const Drawing& drawing) {
  if (drawing.trail.size() < 2) return;
  cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
  for (const Mark::Point& point : drawing.trail) cairo_line_to(cairo, point.x, point.y);
  stroke(cairo, drawing);
}

void draw_text(cairo_t* cairo, const Drawing& drawing, PangoLayout* layout) {
  const Box& text = drawing.text;
  if (text.width() <= 0) return;
  cairo_rectangle(cairo, text.left, text.top, text.width(), text.height());
  set_color(cairo, drawing.color);
  cairo_fill(cairo);
  set_color(cairo, text_color(drawing.color));
  cairo_move_to(cairo, text.left + drawing.margin, text.top + drawing.margin);
  pango_cairo_show_layout(cairo, layout);
}

}  // namespace

GstVideoOverlayRectangle* Painter::paint(const Mark& mark, const Look& look, int width,
                                         int height) {
  const double scale = height / reference_height, text_scale = std::max(scale, min_text_scale);
  Drawing drawing{{mark.x * width, mark.y * height, (mark.x + mark.width) * width,
                   (mark.y + mark.height) * height},
                  {},
                  {},
                  mark.is_turned(),
                  {},
                  color_of(mark, look),
                  dashes_of(mark, scaled(look.line_width, scale)),
                  scaled(look.line_width, scale),
                  scaled(rim_width, scale),
                  scaled(text_margin, text_scale)};
  for (const Mark::Point& corner : mark.corners)
    drawing.corners.push_back({corner.x * width, corner.y * height});
  for (const Mark::Point& point : mark.trail)
    drawing.trail.push_back({point.x * width, point.y * height});
  const std::string text = text_of(mark, look);
  PangoLayout* set = text.empty() ? nullptr : texts_.layout(text, look.font, text_scale);
  if (set)
    drawing.text =
        place_text(set, drawing.box.outset(drawing.reach()), drawing.margin, width, height);

  const Box part = clip(drawing.bounds(), width, height);
  if (part.width() <= 0 || part.height() <= 0) return nullptr;
  return make_image(part, [&](cairo_t* cairo) {
    draw_trail(cairo, drawing);
    draw_box(cairo, drawing);
    draw_text(cairo, drawing, set);
  });
}

}  // namespace cudaxcorr
