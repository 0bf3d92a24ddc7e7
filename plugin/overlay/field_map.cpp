// SPDX-License-Identifier: LGPL-2.1-or-later
#include "overlay/field_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "gstcudaxcorrfieldmeta.h"

namespace cudaxcorr {
namespace {

std::span<const float> array_of(const GstStructure* meta, const char* name) {
  gsize length = 0;
  const gfloat* values = gst_cuda_xcorr_field_get_array(meta, name, &length);
  return {values, length};
}

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// From a window's left neighbour to its right one, or from the upper to the lower; at an edge from
/// the window itself.
double difference(const FieldView& field, std::span<const float> values, int row, int column,
                  bool down) {
  const int place = down ? row : column, last = (down ? field.rows : field.columns) - 1;
  const int from = std::max(place - 1, 0), to = std::min(place + 1, last);
  if (field.spacing == 0 || from == to) return unknown;
  const auto at = [&](int i) {
    return double{values[static_cast<std::size_t>(down ? i * field.columns + column
                                                       : row * field.columns + i)]};
  };
  return (at(to) - at(from)) / ((to - from) * field.spacing);
}

/// Of the displacement at a window.
struct Slopes {
  double dx_by_x, dx_by_y, dy_by_x, dy_by_y;
};

Slopes differences(const FieldView& field, int row, int column) {
  return {difference(field, field.dx, row, column, false),
          difference(field, field.dx, row, column, true),
          difference(field, field.dy, row, column, false),
          difference(field, field.dy, row, column, true)};
}

/// Those measured, of a window that is believed.
Slopes slopes_at(const FieldView& field, int row, int column) {
  const auto window = static_cast<std::size_t>(row * field.columns + column);
  if (!field.has_slopes || field.is_replaced(window)) return differences(field, row, column);
  return {field.dx_by_x[window], field.dx_by_y[window], field.dy_by_x[window],
          field.dy_by_y[window]};
}

double value_at(const FieldView& field, FieldMap map, int row, int column) {
  const auto window = static_cast<std::size_t>(row * field.columns + column);
  const Slopes slopes = slopes_at(field, row, column);
  switch (map) {
    case FieldMap::none:
      break;
    case FieldMap::magnitude:
      return std::hypot(field.dx[window], field.dy[window]);
    case FieldMap::u:
      return field.dx[window];
    case FieldMap::v:
      return field.dy[window];
    case FieldMap::strain_xx:
      return slopes.dx_by_x;
    case FieldMap::strain_yy:
      return slopes.dy_by_y;
    case FieldMap::strain_xy:
      return (slopes.dx_by_y + slopes.dy_by_x) / 2;
    case FieldMap::vorticity:
      return slopes.dy_by_x - slopes.dx_by_y;
  }
  return 0;
}

}  // namespace

GType field_map_type() {
  static const GType type = [] {
    static constexpr GEnumValue values[] = {
        {static_cast<int>(FieldMap::none), "Nothing", "none"},
        {static_cast<int>(FieldMap::magnitude), "Length of the displacement", "magnitude"},
        {static_cast<int>(FieldMap::u), "Displacement to the right", "u"},
        {static_cast<int>(FieldMap::v), "Displacement downwards", "v"},
        {static_cast<int>(FieldMap::strain_xx), "Strain along x", "strain-xx"},
        {static_cast<int>(FieldMap::strain_yy), "Strain along y", "strain-yy"},
        {static_cast<int>(FieldMap::strain_xy), "Shear strain", "strain-xy"},
        {static_cast<int>(FieldMap::vorticity), "Vorticity", "vorticity"},
        {0, nullptr, nullptr}};
    return g_enum_register_static("GstXCorrOverlayFieldMap", values);
  }();
  return type;
}

bool FieldView::read(const GstStructure* meta, FieldView& view) {
  const gchar* state = gst_structure_get_string(meta, "state");
  if (g_strcmp0(state, "measured") != 0 ||
      !gst_structure_get(meta, "frame-width", G_TYPE_INT, &view.frame_width, "frame-height",
                         G_TYPE_INT, &view.frame_height, "columns", G_TYPE_INT, &view.columns,
                         "rows", G_TYPE_INT, &view.rows, "window", G_TYPE_INT, &view.window,
                         "spacing", G_TYPE_INT, &view.spacing, nullptr))
    return false;
  view.x = array_of(meta, "x");
  view.y = array_of(meta, "y");
  view.dx = array_of(meta, "dx");
  view.dy = array_of(meta, "dy");
  view.dx_by_x = array_of(meta, "dx-by-x");
  view.dx_by_y = array_of(meta, "dx-by-y");
  view.dy_by_x = array_of(meta, "dy-by-x");
  view.dy_by_y = array_of(meta, "dy-by-y");
  view.status = array_of(meta, "status");
  if (view.columns < 1 || view.rows < 1 || view.spacing < 0 || view.room() < 1 ||
      view.frame_width < 1 || view.frame_height < 1)
    return false;
  const auto size =
      static_cast<std::uint64_t>(view.columns) * static_cast<std::uint64_t>(view.rows);
  const std::array slopes{view.dx_by_x, view.dx_by_y, view.dy_by_x, view.dy_by_y};
  view.has_slopes = std::ranges::any_of(slopes, [](const auto& array) {
    return std::ranges::any_of(array, [](float v) { return v != 0; });
  });
  const auto is_sound = [size](const auto& array) {
    return array.size() == size &&
           std::ranges::all_of(array, [](float v) { return std::isfinite(v); });
  };
  return std::ranges::all_of(std::array{view.x, view.y, view.dx, view.dy, view.status}, is_sound) &&
         std::ranges::all_of(slopes, is_sound);
}

std::vector<double> values_of(const FieldView& field, FieldMap map) {
  std::vector<double> values;
  values.reserve(field.dx.size());
  for (int row = 0; row < field.rows; ++row)
    for (int column = 0; column < field.columns; ++column)
      values.push_back(value_at(field, map, row, column));
  return values;
}

bool is_signed(FieldMap map) { return map != FieldMap::magnitude; }

/// Straight lines between colours that can be told apart with any kind of colour vision.
guint32 color_of(FieldMap map, double value) {
  static constexpr guint32 rising[] = {0x440154, 0x3b528b, 0x21918c, 0x5ec962, 0xfde725};
  static constexpr guint32 both[] = {0x2166ac, 0x92c5de, 0xf7f7f7, 0xf4a582, 0xb2182b};
  const auto& stops = is_signed(map) ? both : rising;
  const double place = 4 * std::clamp(is_signed(map) ? (value + 1) / 2 : value, 0.0, 1.0);
  const int below = std::min(static_cast<int>(place), 3);
  guint32 color = 0xff;
  for (const int shift : {16, 8, 0}) {
    const auto channel = [&](int i) { return static_cast<double>(stops[i] >> shift & 0xff); };
    const double mixed = channel(below) + (place - below) * (channel(below + 1) - channel(below));
    color = color << 8 | static_cast<guint32>(std::lround(mixed));
  }
  return color;
}

const char* unit_of(FieldMap map) {
  return map == FieldMap::magnitude || map == FieldMap::u || map == FieldMap::v ? "px" : "";
}

}  // namespace cudaxcorr
