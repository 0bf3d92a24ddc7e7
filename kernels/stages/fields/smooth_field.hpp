// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage smooth_field: validated vectors -> the same, their displacements averaged with those
// around them. What changes evenly from place to place stays as it is, at the rim, too; or, where
// that matters less than what is certain, averages are weighted by scores.
#pragma once

#include <algorithm>
#include <cmath>

#include "stages/fields/field.hpp"

namespace xcorr {

/// A vector of the grid after that. `weight`: of a neighbour in its row or column; corners have its
/// square, as in a Gauss bell. `neighbours`: of the window, or null for its neighbours in the grid.
XCORR_HD inline FieldVector smoothed(float weight, const FieldVector* vectors, Size grid,
                                     int column, int row, const FieldNeighbours* neighbours) {
  const auto takes_part = [](const FieldVector& v) {
    return v.status != FieldStatus::masked && v.status != FieldStatus::flat;
  };
  const std::int64_t own = std::int64_t{row} * grid.width + column;
  FieldVector vector = vectors[own];
  if (!takes_part(vector)) return vector;
  float dx = 0, dy = 0, total = 1;
  if (neighbours) {
    // From where the slopes lead: neighbours lie at any places, so slopes need all of them.
    FieldSlopes slopes{0, 0, 0, 0};
    for (int i = 0; i < FieldNeighbours::most; ++i) {
      if (neighbours->node[i] < 0) continue;
      const FieldVector& other = vectors[neighbours->node[i]];
      if (!takes_part(other)) return vector;
      slopes.dx_by_x += neighbours->by_x[i] * (other.dx - vector.dx);
      slopes.dx_by_y += neighbours->by_y[i] * (other.dx - vector.dx);
      slopes.dy_by_x += neighbours->by_x[i] * (other.dy - vector.dy);
      slopes.dy_by_y += neighbours->by_y[i] * (other.dy - vector.dy);
    }
    for (int i = 0; i < FieldNeighbours::most; ++i) {
      if (neighbours->node[i] < 0) continue;
      const FieldVector& other = vectors[neighbours->node[i]];
      const float x = other.x - vector.x, y = other.y - vector.y;
      dx += weight * (other.dx - vector.dx - slopes.dx_by_x * x - slopes.dx_by_y * y);
      dy += weight * (other.dy - vector.dy - slopes.dy_by_x * x - slopes.dy_by_y * y);
      total += weight;
    }
  } else {
    // By pairs on both sides of the vector.
    for (int i = 0; i < 4; ++i) {
      const int x = i % 3 - 1, y = i / 3 - 1;
      const auto inside = [&](int to_x, int to_y) {
        return to_x >= 0 && to_y >= 0 && to_x < grid.width && to_y < grid.height;
      };
      if (!inside(column + x, row + y) || !inside(column - x, row - y)) continue;
      const std::int64_t step = std::int64_t{y} * grid.width + x;
      const FieldVector &before = vectors[own + step], &after = vectors[own - step];
      if (!takes_part(before) || !takes_part(after)) continue;
      const float of_pair = i % 2 == 0 ? weight * weight : weight;
      dx += of_pair * (before.dx - vector.dx + (after.dx - vector.dx));
      dy += of_pair * (before.dy - vector.dy + (after.dy - vector.dy));
      total += 2 * of_pair;
    }
  }
  vector.dx += dx / total;
  vector.dy += dy / total;
  return vector;
}

/// A Gauss bell along an axis of the grid: the weight `rim` at the first of the nodes that count,
/// `rise` times as much at the second one, and so on, where `rise` changes by `bend` at each.
struct FieldBell {
  float rim = 0, rise = 1, bend = 1;

  /// \param deviation  nodes
  static FieldBell of(double deviation, int reach) {
    const auto weight = [=](int x) { return std::exp(-0.5 * x * x / (deviation * deviation)); };
    return {static_cast<float>(weight(reach)),
            static_cast<float>(weight(reach - 1) / weight(reach)),
            static_cast<float>(weight(1) * weight(1))};
  }
  XCORR_HD void step() {
    rim *= rise;
    rise *= bend;
  }
};

/// How vectors are averaged with those around them, each as certain as it is alike what it was
/// found in.
struct FieldBells {
  int reach = 0;           ///< nodes to each side; 0: not at all
  double narrow = 0;       ///< the bell's standard deviation, nodes
  double wide = 0;         ///< that of another one
  float restored = 0;      ///< of what the narrow one's average exceeds the wide one's by
  FieldBell near_by, far;  ///< the two along an axis

  /// Before a pass in deformed images. \param nodes  of the grid in the side of a window that was
  /// searched  \param smaller  whether those of the next pass are smaller
  static FieldBells before_pass(double nodes, bool smaller) {
    FieldBells bells;
    // Where a window saw two motions it has the one or the other. Smaller windows cannot tell from
    // the middle between them such a step within their side, so it must not be left.
    const double of_window = smaller ? nodes / 3 : nodes / 4;
    constexpr double least_narrow = 0.9;  // a grid's noise is of single nodes
    bells.narrow = std::max(of_window, least_narrow);
    bells.wide = 2 * bells.narrow;
    // A window and the bell flatten waves by their variances, as the two bells differ by theirs.
    // Not all of it comes back: noise would, too.
    if (!smaller)
      bells.restored =
          static_cast<float>(0.75 * (nodes * nodes / 12 + bells.narrow * bells.narrow) /
                             (3 * bells.narrow * bells.narrow));
    constexpr int least = 2, most = 8;
    bells.reach = std::clamp(static_cast<int>(std::ceil(2 * (smaller ? bells.narrow : bells.wide))),
                             least, most);
    bells.near_by = FieldBell::of(bells.narrow, bells.reach);
    bells.far = FieldBell::of(bells.wide, bells.reach);
    return bells;
  }
};

/// A vector of the grid averaged with those around it that are believed, by the cubes of their
/// scores: what was found well stands for what was not. With higher powers one side of a shear
/// would stand for the other, with lower ones what was found by chance beyond an edge for what is
/// gone. A vector with nothing certain around it stays as it is.
XCORR_HD inline FieldVector filled(const FieldBells& bells, const FieldVector* vectors, Size grid,
                                   int column, int row) {
  FieldVector vector = vectors[std::int64_t{row} * grid.width + column];
  float near_dx = 0, near_dy = 0, near_total = 0, far_dx = 0, far_dy = 0, far_total = 0;
  FieldBell near_down = bells.near_by, far_down = bells.far;
  for (int y = row - bells.reach; y <= row + bells.reach; ++y, near_down.step(), far_down.step()) {
    if (y < 0 || y >= grid.height) continue;
    FieldBell near_across = bells.near_by, far_across = bells.far;
    for (int x = column - bells.reach; x <= column + bells.reach;
         ++x, near_across.step(), far_across.step()) {
      if (x < 0 || x >= grid.width) continue;
      const FieldVector& other = vectors[std::int64_t{y} * grid.width + x];
      if (other.status != FieldStatus::ok || !(other.score > 0)) continue;
      const float certain = other.score * other.score * other.score;
      const float near_by = certain * near_down.rim * near_across.rim;
      const float far = certain * far_down.rim * far_across.rim;
      near_dx += near_by * other.dx;
      near_dy += near_by * other.dy;
      near_total += near_by;
      far_dx += far * other.dx;
      far_dy += far * other.dy;
      far_total += far;
    }
  }
  if (!(near_total > 0)) return vector;
  vector.dx = near_dx / near_total;
  vector.dy = near_dy / near_total;
  vector.dx += bells.restored * (vector.dx - far_dx / far_total);
  vector.dy += bells.restored * (vector.dy - far_dy / far_total);
  return vector;
}

namespace stage {

struct SmoothField {
  static constexpr const char* name = "smooth_field";

  struct Problem {
    Size grid;
    float weight = 0.5F;
    bool explicit_places = false;  ///< windows are given one by one, and their neighbours with them
    FieldBells bells = {};         ///< if they reach out, averages are by scores; not of a list

    constexpr Features features() const { return {}; }
  };

  struct Buffers : Launch {
    const FieldVector* vectors = nullptr;
    const FieldNeighbours* neighbours = nullptr;
    FieldVector* smoothed = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("vectors", &Buffers::vectors, records<FieldVector>(p.grid.area()));
    visit("neighbours", &Buffers::neighbours,
          records<FieldNeighbours>(p.explicit_places ? p.grid.area() : 0));
    visit("smoothed", &Buffers::smoothed, records<FieldVector>(p.grid.area()));
  }
};

}  // namespace stage
}  // namespace xcorr
