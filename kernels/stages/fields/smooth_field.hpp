// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage smooth_field: validated vectors -> the same, their displacements averaged with those
// around them. What changes evenly from place to place stays as it is, at the rim, too; or, where
// that matters less than what is certain, averages are weighted by scores.
#pragma once

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

/// A vector of the grid averaged with the 5 x 5 around it, each as certain as it is alike what it
/// was found in: the fourth power of its score, and 0 where it is not believed. So what was found
/// well stands for what was not. A vector with nothing certain around it stays as it is.
XCORR_HD inline FieldVector filled(float weight, const FieldVector* vectors, Size grid, int column,
                                   int row) {
  constexpr int reach = 2;
  FieldVector vector = vectors[std::int64_t{row} * grid.width + column];
  const float square = weight * weight, in_reach[reach + 1] = {1, weight, square * square};
  float dx = 0, dy = 0, total = 0;
  for (int y = -reach; y <= reach; ++y)
    for (int x = -reach; x <= reach; ++x) {
      if (column + x < 0 || row + y < 0 || column + x >= grid.width || row + y >= grid.height)
        continue;
      const FieldVector& other = vectors[std::int64_t{row + y} * grid.width + column + x];
      if (other.status != FieldStatus::ok || !(other.score > 0)) continue;
      const float squared = other.score * other.score;
      const float share = squared * squared * in_reach[x < 0 ? -x : x] * in_reach[y < 0 ? -y : y];
      dx += share * other.dx;
      dy += share * other.dy;
      total += share;
    }
  if (!(total > 0)) return vector;
  vector.dx = dx / total;
  vector.dy = dy / total;
  return vector;
}

namespace stage {

struct SmoothField {
  static constexpr const char* name = "smooth_field";

  struct Problem {
    Size grid;
    float weight = 0.5F;
    bool explicit_places = false;  ///< windows are given one by one, and their neighbours with them
    bool filled = false;           ///< averages are by scores, and wider; not of a list

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
