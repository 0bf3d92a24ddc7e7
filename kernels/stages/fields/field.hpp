// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the stages of displacement fields share: where interrogation windows lie, and the
// displacements that are expected there.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include <xcorr/field.hpp>

#include "stages/common/host_device.hpp"
#include "stages/common/rows.hpp"
#include "stages/common/stage.hpp"

namespace xcorr {

/// What the settings of fields are limited to.
struct FieldLimits {
  static constexpr int least_window = 4, window = 256, range = 64;
};

/// What a pixel counts as: of floating point what is not finite counts as 0.
template <class T>
XCORR_HD T counted_pixel(T value) {
  if constexpr (std::is_floating_point_v<T>) return fabsf(value) <= 3.4028235e38F ? value : 0;
  return value;
}

/// An image of u16 or f32 as one type; that of bytes is std::uint8_t.
struct U16F32Pixel {};

/// An image's pixels as floats. Pixel: of which kind they are, std::uint8_t or U16F32Pixel.
template <class Pixel>
struct FieldPixels {
  const std::uint8_t* rows;
  std::int64_t pitch;  ///< bytes
  Size size;
  ElementType type;

  XCORR_HD float operator()(int x, int y) const {
    if constexpr (std::is_same_v<Pixel, std::uint8_t>) return rows[y * pitch + x];
    return type == ElementType::u16 ? row_of<std::uint16_t>(rows, pitch, y)[x]
                                    : counted_pixel(row_of<float>(rows, pitch, y)[x]);
  }
};

/// How a displacement changes from place to place.
struct FieldSlopes {
  float dx_by_x, dx_by_y, dy_by_x, dy_by_y;
};

/// How these change from place to place, in pixels per pixel and pixel.
struct FieldBend {
  float dx_by_xx, dx_by_xy, dx_by_yy, dy_by_xx, dy_by_xy, dy_by_yy;

  /// What it adds to a displacement at (u, v) from where that belongs to.
  XCORR_HD float across(float u, float v) const { return bent(dx_by_xx, dx_by_xy, dx_by_yy, u, v); }
  XCORR_HD float down(float u, float v) const { return bent(dy_by_xx, dy_by_xy, dy_by_yy, u, v); }

 private:
  XCORR_HD static float bent(float xx, float xy, float yy, float u, float v) {
    return u * (0.5F * xx * u + xy * v) + 0.5F * yy * v * v;
  }
};

/// A window of the reference, and what is expected of it.
struct InterrogationWindow {
  std::int32_t x = 0, y = 0;  ///< its upper left corner
  float dx = 0, dy = 0;       ///< its displacement
  float dx_by_x = 0, dx_by_y = 0, dy_by_x = 0, dy_by_y = 0;
  float node_x = 0, node_y = 0;  ///< from its centre to its node of the grid
  /// Of the displacement what the images were deformed by before: what is found comes on top.
  float deformed_dx = 0, deformed_dy = 0;
  FieldStatus status = FieldStatus::ok;  ///< else it is left out

  XCORR_HD FieldSlopes slopes() const { return {dx_by_x, dx_by_y, dy_by_x, dy_by_y}; }
};

/// The neighbours of a window of a list, which has no rows and columns.
struct FieldNeighbours {
  static constexpr int most = 8;
  std::int32_t node[most];  ///< numbers of windows; -1: none
  /// Of each, so that a slope is the sum of weights times differences to the window's own value.
  float by_x[most], by_y[most];
};

/// The vector lies at the window's node.
XCORR_HD inline void place_vector(const InterrogationWindow& window, int size,
                                  FieldVector& vector) {
  const float half = 0.5F * static_cast<float>(size - 1);
  vector.x = static_cast<float>(window.x) + half + window.node_x;
  vector.y = static_cast<float>(window.y) + half + window.node_y;
}

/// A displacement of the window becomes that of the way whose middle is the window's node.
XCORR_HD inline void move_to_node(const InterrogationWindow& window, const FieldSlopes& slopes,
                                  FieldVector& vector) {
  const float x = window.node_x - 0.5F * vector.dx, y = window.node_y - 0.5F * vector.dy;
  vector.dx += slopes.dx_by_x * x + slopes.dx_by_y * y;
  vector.dy += slopes.dy_by_x * x + slopes.dy_by_y * y;
}

/// Of a best score to a second one.
XCORR_HD inline float ratio_of(double best, double second) {
  constexpr double most = 100;
  if (!(best > 0)) return 1;
  return static_cast<float>(second * most > best ? best / second : most);
}

/// When a vector is not believed; the meaning is that of FieldSettings.
struct FieldPlausibility {
  float median_limit = 2, median_noise = 0.1F;
  float min_score = 0, min_ratio = 1;

  /// By itself.
  XCORR_HD bool is_likely(const FieldVector& vector) const {
    return vector.status == FieldStatus::ok && vector.score >= min_score &&
           vector.ratio >= min_ratio;
  }
};

}  // namespace xcorr
