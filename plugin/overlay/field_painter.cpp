// SPDX-License-Identifier: LGPL-2.1-or-later
#include "overlay/field_painter.h"

#include <algorithm>
#include <cmath>

namespace cudaxcorr {
namespace {

constexpr guint32 arrow_color = 0xfff0e442, replaced_color = 0xffd55e00;  // yellow, vermilion
constexpr double map_opacity = 0.6;
constexpr double margin = 6;  ///< pixels of a frame 720 high, round a key

/// 1, 2 or 5 times a power of ten, at most the number.
double round_below(double number) {
  const double power = std::pow(10, std::floor(std::log10(number)));
  return power * (number >= 5 * power ? 5 : number >= 2 * power ? 2 : 1);
}

std::string text_of(double number, const char* unit) {
  gchar text[G_ASCII_DTOSTR_BUF_SIZE];
  g_ascii_formatd(text, sizeof text, "%.3g", number);
  return std::string(text) + (*unit ? " " : "") + unit;
}

/// A field laid out in a frame.
struct Sheet {
  const FieldView& field;
  const FieldLook& look;
  double across, down;  ///< pixels of the frame for one of the measured frame's
  double scale;         ///< of sizes that grow with the frame
  double line_width, rim;
  std::string font;
  int width, height;
};

struct Place {
  double x, y;
};

/// In the frame, where the centre of the upper left pixel is at 0.5, 0.5.
Place centre_of(const Sheet& sheet, std::size_t window) {
  return {(sheet.field.x[window] + 0.5) * sheet.across, (sheet.field.y[window] + 0.5) * sheet.down};
}

/// Of the windows that are known; NaN is passed over.
template <class Value>
double largest(const FieldView& field, const Value& value) {
  double largest = 0;
  for (std::size_t i = 0; i < field.dx.size(); ++i)
    if (field.is_known(i)) largest = std::max(largest, std::abs(double{value(i)}));
  return largest;
}

void draw_arrow(cairo_t* cairo, const Sheet& sheet, Place from, Place by, guint32 color) {
  const double length = std::hypot(by.x, by.y);
  cairo_move_to(cairo, from.x, from.y);
  cairo_line_to(cairo, from.x + by.x, from.y + by.y);
  const double head = std::min(4 * sheet.line_width, length / 2);
  if (length > 0)
    for (const double side : {-0.5, 0.5}) {
      const double back_x = head / length * by.x, back_y = head / length * by.y;
      cairo_move_to(cairo, from.x + by.x, from.y + by.y);
      cairo_line_to(cairo, from.x + by.x - back_x - side * back_y,
                    from.y + by.y - back_y + side * back_x);
    }
  cairo_set_line_cap(cairo, CAIRO_LINE_CAP_ROUND);
  cairo_set_line_width(cairo, sheet.line_width + 2 * sheet.rim);
  cairo_set_source_rgba(cairo, 0, 0, 0, 0.4);
  cairo_stroke_preserve(cairo);
  cairo_set_line_width(cairo, sheet.line_width);
  set_color(cairo, color);
  cairo_stroke(cairo);
}

void draw_text(cairo_t* cairo, PangoLayout* layout, double x, double y) {
  cairo_move_to(cairo, x, y);
  pango_cairo_layout_path(cairo, layout);
  cairo_set_line_width(cairo, 2);
  cairo_set_source_rgba(cairo, 0, 0, 0, 0.6);
  cairo_stroke_preserve(cairo);
  cairo_set_source_rgb(cairo, 1, 1, 1);
  cairo_fill(cairo);
}

/// How large a text is, in pixels.
Place size_of(PangoLayout* layout) {
  int width, height;
  pango_layout_get_pixel_size(layout, &width, &height);
  return {double(width), double(height)};
}

/// All arrows and, in the lower left corner, one of a known length.
void draw_arrows(cairo_t* cairo, const Sheet& sheet, Texts& texts, guint32 color) {
  const FieldView& field = sheet.field;
  const double longest =
      largest(field, [&](std::size_t i) { return std::hypot(field.dx[i], field.dy[i]); });
  const double fixed = sheet.look.arrow_scale;
  const double stretch = fixed > 0 ? fixed : longest > 0 ? field.room() / longest : 0;
  for (std::size_t i = 0; i < field.dx.size(); ++i) {
    if (!field.is_known(i)) continue;
    const Place by{field.dx[i] * stretch * sheet.across, field.dy[i] * stretch * sheet.down};
    draw_arrow(cairo, sheet, centre_of(sheet, i), by,
               field.is_replaced(i) ? replaced_color : color);
  }
  if (longest <= 0) return;
  const double shown = round_below(longest), gap = margin * sheet.scale;
  PangoLayout* text = texts.layout(text_of(shown, "px"), sheet.font, sheet.scale);
  const Place size = size_of(text);
  const double y = sheet.height - gap - size.y / 2, length = shown * stretch * sheet.across;
  draw_arrow(cairo, sheet, {gap, y}, {length, 0}, color);
  draw_text(cairo, text, 2 * gap + length, y - size.y / 2);
}

/// A square for each window, in the colour of its share of the range.
void draw_squares(cairo_t* cairo, const Sheet& sheet, const std::vector<double>& values,
                  double range) {
  const FieldView& field = sheet.field;
  const double width = field.room() * sheet.across, height = field.room() * sheet.down;
  cairo_push_group(cairo);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!field.is_known(i) || std::isnan(values[i])) continue;
    const Place centre = centre_of(sheet, i);
    cairo_rectangle(cairo, centre.x - width / 2, centre.y - height / 2, width, height);
    set_color(cairo, color_of(sheet.look.map, range > 0 ? values[i] / range : 0));
    cairo_fill(cairo);
  }
  cairo_pop_group_to_source(cairo);
  cairo_paint_with_alpha(cairo, map_opacity);
}

/// The scale of the colours, in the lower right corner. Returns where its text goes.
Place draw_scale(cairo_t* cairo, const Sheet& sheet, double least) {
  const double gap = margin * sheet.scale, width = 120 * sheet.scale, height = 2 * gap;
  const double right = sheet.width - gap, bottom = sheet.height - gap;
  const int steps = static_cast<int>(std::max(1.0, std::ceil(width)));
  for (int i = 0; i < steps; ++i) {
    cairo_rectangle(cairo, right - width + i * width / steps, bottom - height, width / steps,
                    height);
    set_color(cairo, color_of(sheet.look.map, least + (1 - least) * (i + 0.5) / steps));
    cairo_fill(cairo);
  }
  return {right, bottom - height};
}

void draw_map(cairo_t* cairo, const Sheet& sheet, Texts& texts) {
  const FieldMap map = sheet.look.map;
  const std::vector<double> values = values_of(sheet.field, map);
  if (std::ranges::all_of(values, [](double v) { return std::isnan(v); })) return;
  const double fixed = sheet.look.map_range, least = is_signed(map) ? -1 : 0;
  const double range =
      fixed > 0 ? fixed : largest(sheet.field, [&](std::size_t i) { return values[i]; });
  cairo_set_antialias(cairo, CAIRO_ANTIALIAS_NONE);  // else there are lines between squares
  draw_squares(cairo, sheet, values, range);
  const Place corner = draw_scale(cairo, sheet, least);
  cairo_set_antialias(cairo, CAIRO_ANTIALIAS_DEFAULT);
  PangoLayout* text = texts.layout(
      text_of(least * range, "") + " to " + text_of(range, unit_of(map)), sheet.font, sheet.scale);
  const Place size = size_of(text);
  draw_text(cairo, text, corner.x - size.x, corner.y - size.y);
}

}  // namespace

GstVideoOverlayRectangle* FieldPainter::paint(const GstStructure* meta, const FieldLook& field,
                                              const Look& look, int width, int height) {
  FieldView view;
  if ((!field.arrows && field.map == FieldMap::none) || !FieldView::read(meta, view))
    return nullptr;
  const double scale = height / reference_height, text_scale = std::max(scale, min_text_scale);
  const Sheet sheet{view,
                    field,
                    static_cast<double>(width) / view.frame_width,
                    static_cast<double>(height) / view.frame_height,
                    text_scale,
                    scaled(look.line_width / 2.0, scale),
                    scaled(0.5, scale),
                    look.font,
                    width,
                    height};
  return make_image({0, 0, double(width), double(height)}, [&](cairo_t* cairo) {
    if (field.map != FieldMap::none) draw_map(cairo, sheet, texts_);
    if (field.arrows) draw_arrows(cairo, sheet, texts_, look.color ? look.color : arrow_color);
  });
}

}  // namespace cudaxcorr
