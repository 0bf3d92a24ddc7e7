// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A case's first left as the reference of a displacement field, and itself moved as the frame: what
// the tests of the stages of fields have in common.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "posed.hpp"
#include "stages/fields/field.hpp"
#include "stages/fields/spline.hpp"

namespace checkcorr {

/// Cases that windows fit into, tried once.
inline bool is_fielded(const Case& c) {
  return !c.filter && is_matching(c) && c.left.width >= 6 && c.left.height >= 6;
}

/// How far the frame is moved.
inline constexpr int field_dx = 2, field_dy = -1;

/// Of windows: that of the case's right, as far as it is possible and quick.
inline int field_window(const Case& c, int most) {
  const int side = std::min({c.right.width, c.right.height, c.left.width, c.left.height, most});
  return std::max(side, xcorr::FieldLimits::least_window);
}

/// The pitch of the moved frame, which is another than the reference's.
inline std::int64_t moved_pitch(const Case& c) {
  return (c.left.width + c.pad + 3) * static_cast<std::int64_t>(size_of(c.type));
}

/// Sets `reference`, and `frame`, in which what leaves it comes in again at the other side.
inline void set_images(Scenario& scenario) {
  set_frame(scenario);
  const Case& c = scenario.test;
  const std::vector<std::byte> reference = scenario.values["frame"];
  const std::int64_t pitch = scenario.problem.correlate.left_pitch;
  const auto bytes = static_cast<std::int64_t>(size_of(c.type));
  std::vector<std::byte> moved((c.left.height - 1) * moved_pitch(c) + c.left.width * bytes);
  for (int y = 0; y < c.left.height; ++y)
    for (int x = 0; x < c.left.width; ++x) {
      const int to_x = (x + field_dx) % c.left.width;
      const int to_y = (y + field_dy + c.left.height) % c.left.height;
      std::copy_n(reference.begin() + y * pitch + x * bytes, bytes,
                  moved.begin() + to_y * moved_pitch(c) + to_x * bytes);
    }
  scenario.values["reference"] = reference;
  scenario.values["frame"] = moved;
}

/// The moved frame's coefficients.
inline xcorr::stage::Spline::Problem spline_problem(const Case& c) {
  return {c.left, moved_pitch(c), c.right.width % 2 ? 3 : 5, c.type};
}
inline void set_spline_inputs(Scenario& scenario) {
  set_images(scenario);
  scenario.values["pixels"] = scenario.values["frame"];
}

/// By how much the pixels of an image are larger than those of bytes.
inline double scale_of(const Case& c, const Values& values, const char* name) {
  return with_pixels(c.type, [&]<class T>() {
    double largest = 0;
    for (const T pixel : view<T>(values, name))
      if (std::isfinite(double(pixel))) largest = std::max(largest, std::abs(double(pixel)));
    return largest / 255;
  });
}

inline bool has_mask(const Case& c) { return c.mask != Mask::none; }

/// Of the whole reference: its right half in stripes, so that some windows are complete.
inline void set_field_mask(Scenario& scenario) {
  const Case& c = scenario.test;
  std::vector<std::byte> mask;
  if (has_mask(c))
    for (int y = 0; y < c.left.height; ++y)
      for (int x = 0; x < c.left.width; ++x)
        mask.push_back(std::byte(x < c.left.width / 2 || (x + 2 * y) % 5 != 1 ? 1 + x % 2 : 0));
  scenario.values["reference_mask"] = mask;
}

/// A number from 0 to 1 that is different for each place.
inline float scattered(int i) {
  const double value = 43758.5453 * std::sin(12.9898 * i + 1);
  return static_cast<float>(value - std::floor(value));
}

/// Measured vectors: a smooth field with noise, and every few of them wrong in some way.
inline std::vector<xcorr::FieldVector> made_field(Size grid) {
  std::vector<xcorr::FieldVector> vectors;
  for (int i = 0; i < grid.area(); ++i) {
    xcorr::FieldVector v;
    const auto x = static_cast<float>(i % grid.width), y = static_cast<float>(i / grid.width);
    v.x = 7 + 5 * x;
    v.y = 9 + 5 * y;
    v.dx = 0.3F * x - 0.1F * y + 0.2F * scattered(4 * i);
    v.dy = 2 - 0.2F * x * y / static_cast<float>(grid.width) + 0.2F * scattered(4 * i + 1);
    v.dx_by_x = 0.06F + 0.01F * scattered(4 * i + 5);
    v.dx_by_y = 0.01F * scattered(4 * i + 6);
    v.dy_by_x = 0.01F * scattered(4 * i + 7);
    v.dy_by_y = -0.01F * scattered(4 * i + 8);
    v.score = 0.5F + 0.5F * scattered(4 * i + 2);
    v.ratio = 1 + 3 * scattered(4 * i + 3);
    v.sigma = 0.01F;
    if (i % 7 == 3) v.dx += 4;
    if (i % 11 == 5) v.status = xcorr::FieldStatus::out_of_range;
    if (i % 13 == 9) v.status = xcorr::FieldStatus::replaced;
    if (i % 17 >= 15) v.status = xcorr::FieldStatus::masked;
    if (i > grid.area() * 3 / 4) v.status = xcorr::FieldStatus::flat;
    vectors.push_back(v);
  }
  return vectors;
}

/// Neighbours of a list of windows to any others, and to none.
inline std::vector<xcorr::FieldNeighbours> made_neighbours(std::int64_t count) {
  std::vector<xcorr::FieldNeighbours> neighbours(count);
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < xcorr::FieldNeighbours::most; ++k) {
      const int number = 8 * i + k;
      const auto node = static_cast<int>(scattered(number) * static_cast<float>(count + 2)) - 2;
      neighbours[i].node[k] = node < 0 || node == i ? -1 : node;
      neighbours[i].by_x[k] = scattered(number + 1) - 0.5F;
      neighbours[i].by_y[k] = scattered(number + 2) - 0.5F;
    }
  return neighbours;
}

/// Whether the windows of a case are a list.
inline bool has_explicit_places(const Case& c) { return (c.right.width + c.right.height) % 3 == 1; }

/// Grids of some columns and rows, different from case to case.
inline Size field_grid_of(const Case& c) {
  return {1 + c.right.width % 23, 1 + c.right.height % 19};
}

/// Compares vectors; `displacement` bounds the error of displacements in pixels, and with `half` a
/// window's side that of slopes; `other` that of score and sigma.
inline void compare_vectors(Comparison& comparison, const Values& expected, const Values& got,
                            const char* name, double displacement, double slope, double other,
                            int skipped = -1) {
  const auto right = view<xcorr::FieldVector>(expected, name),
             made = view<xcorr::FieldVector>(got, name);
  for (int i = 0; i < static_cast<int>(right.size()); ++i) {
    if (i == skipped) continue;
    const auto check = [&](const char* what, auto member, double bound) {
      const auto place = [&] { return std::string(name) + '[' + std::to_string(i) + "]." + what; };
      comparison.value(place, right[i].*member, made[i].*member, bound);
    };
    using V = xcorr::FieldVector;
    const auto place = [&] { return std::string(name) + '[' + std::to_string(i) + "].status"; };
    comparison.value(place, static_cast<int>(right[i].status), static_cast<int>(made[i].status), 0);
    check("x", &V::x, 0);
    check("y", &V::y, 0);
    check("dx", &V::dx, displacement);
    check("dy", &V::dy, displacement);
    check("dx_by_x", &V::dx_by_x, slope);
    check("dx_by_y", &V::dx_by_y, slope);
    check("dy_by_x", &V::dy_by_x, slope);
    check("dy_by_y", &V::dy_by_y, slope);
    check("score", &V::score, other);
    check("ratio", &V::ratio, other);
    check("sigma", &V::sigma, other);
  }
}

}  // namespace checkcorr
