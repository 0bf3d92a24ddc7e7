// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A displacement field of a meta, and what of it is shown by colours.
#pragma once

#include <span>
#include <vector>

#include <gst/gst.h>

namespace cudaxcorr {

enum class FieldMap { none, magnitude, u, v, strain_xx, strain_yy, strain_xy, vorticity };

/// Of a property of that type.
GType field_map_type();

/// The arrays of a meta; it must outlive this.
struct FieldView {
  int frame_width = 0, frame_height = 0, columns = 0, rows = 0;
  int window = 0, spacing = 0;  ///< no spacing: windows at places, in one row
  // Of one size.
  std::span<const float> x, y, dx, dy, dx_by_x, dx_by_y, dy_by_x, dy_by_y, status;
  bool has_slopes = false;  ///< least squares have measured them; else they are 0

  /// Whether there is something to show: a field, of a frame that resembles the reference.
  static bool read(const GstStructure* meta, FieldView& view);
  /// Whether the displacement was measured, or stands for one that was not believed.
  bool is_known(std::size_t window) const { return status[window] == 0 || status[window] == 1; }
  /// Pixels that there are for each window: as far as windows are apart or, at places, their size.
  int room() const { return spacing > 0 ? spacing : window; }
  bool is_replaced(std::size_t window) const { return status[window] == 1; }
};

/// The value of each window: pixels, or for strains and vorticity pixels per pixel. These are of
/// the slopes that least squares have measured or, where the window was replaced or there are none,
/// of differences between the windows around it; NaN where there are no such windows.
std::vector<double> values_of(const FieldView& field, FieldMap map);

/// Whether values have a sign, so that 0 is in the middle of the colours.
bool is_signed(FieldMap map);
/// Opaque ARGB of a value from 0 to 1 or, of one with a sign, -1 to 1.
guint32 color_of(FieldMap map, double value);
/// Such as "px".
const char* unit_of(FieldMap map);

}  // namespace cudaxcorr
