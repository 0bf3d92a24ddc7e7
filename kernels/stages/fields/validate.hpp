// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage validate: the measured vectors of a grid -> the same, but what is implausible or
// missing replaced by the median of its neighbours. The test is the normalised median test
// (Westerweel and Scarano 2005). Where a field bends within a few windows, it rejects the vectors
// at extrema, right as they are; so what fails is compared with what the vectors further out
// continue to, too.
#pragma once

#include <cmath>

#include "stages/fields/field.hpp"

namespace xcorr {

/// Up to eight values, of which the median is asked.
class Neighbours {
 public:
  XCORR_HD Neighbours() {
    XCORR_UNROLL
    for (int i = 0; i < 8; ++i) values_[i] = none;
  }

  XCORR_HD int count() const { return count_; }
  /// \param i  a number of its own, from 0 to 7
  XCORR_HD void set(int i, float value, bool counts) {
    values_[i] = counts ? value : none;
    count_ += counts;
  }

  /// Of an even number the mean of the two in the middle; there must be one at least.
  XCORR_HD float median() const {
    Neighbours sorted = *this;
    sorted.sort();
    float lower = 0, upper = 0;
    XCORR_UNROLL
    for (int i = 0; i < 8; ++i) {  // an index known only now would need memory
      const float value = sorted.values_[i];
      lower = i == (count_ - 1) / 2 ? value : lower;
      upper = i == count_ / 2 ? value : upper;
    }
    return 0.5F * (lower + upper);
  }

  /// Of the distances from a place.
  XCORR_HD float median_distance(float from) const {
    Neighbours distances;
    XCORR_UNROLL
    for (int i = 0; i < 8; ++i) distances.set(i, fabsf(values_[i] - from), values_[i] != none);
    return distances.median();
  }

 private:
  /// More than any displacement.
  static constexpr float none = 3e38F;

  XCORR_HD void sort() {
    XCORR_UNROLL
    for (int round = 0; round < 8; ++round) {
      XCORR_UNROLL
      for (int i = 0; i < 7; ++i) {
        if ((i + round) % 2 != 0) continue;
        const float a = values_[i], b = values_[i + 1];
        values_[i] = fminf(a, b);
        values_[i + 1] = fmaxf(a, b);
      }
    }
  }

  float values_[8];
  int count_ = 0;
};

/// The weights with which what lies along a line continues to a node on it.
struct LineWeights {
  static constexpr int steps = 3;
  /// One, two and three steps away, on one side and on the other; all 0: too little is known.
  float of[2][steps] = {};

  /// By the cubic polynomial through two on each side; at a rim the quadratic one through one and
  /// two, or through three on one side. \param known  which there are
  XCORR_HD explicit LineWeights(const bool (&known)[2][steps]) {
    const bool one = known[0][0], other = known[1][0];
    if (one && other && known[0][1] && known[1][1])
      set(4.F / 6, -1.F / 6, 4.F / 6, -1.F / 6);
    else if (one && other && known[0][1])
      set(1, -1.F / 3, 1.F / 3, 0);
    else if (one && other && known[1][1])
      set(1.F / 3, 0, 1, -1.F / 3);
    else if (one && known[0][1] && known[0][2])
      set(3, -3, 0, 0, 1, 0);
    else if (other && known[1][1] && known[1][2])
      set(0, 0, 3, -3, 0, 1);
  }
  XCORR_HD bool any() const { return of[0][0] != 0 || of[1][0] != 0; }

 private:
  XCORR_HD void set(float a, float b, float c, float d, float third_a = 0, float third_c = 0) {
    of[0][0] = a;
    of[0][1] = b;
    of[0][2] = third_a;
    of[1][0] = c;
    of[1][1] = d;
    of[1][2] = third_c;
  }
};

/// How far a component lies from the median of several, in medians of their own distances from it.
XCORR_HD inline float strangeness(float value, float median, float spread,
                                  const FieldPlausibility& limits) {
  return (value - median) / (spread + limits.median_noise);
}

/// Whether a vector is what the lines through it, along rows, columns and diagonals of the grid,
/// continue to: the normalised median test with them as neighbours. \param spread_x, spread_y  of
/// the neighbours, which those of the lines must not exceed to excuse more
XCORR_HD inline bool continues(const FieldPlausibility& limits, const FieldVector* vectors,
                               Size grid, int column, int row, float spread_x, float spread_y) {
  Neighbours dx, dy;
  XCORR_UNROLL
  for (int line = 0; line < 4; ++line) {
    const int step_x = line % 3 - 1, step_y = line / 3 - 1;
    const auto at = [&](int side, int i) {
      const int steps = side ? -i - 1 : i + 1;
      const int x = column + steps * step_x, y = row + steps * step_y;
      const bool inside = x >= 0 && y >= 0 && x < grid.width && y < grid.height;
      return inside ? vectors + std::int64_t{y} * grid.width + x : nullptr;
    };
    bool known[2][LineWeights::steps];
    for (int side = 0; side < 2; ++side)
      for (int i = 0; i < LineWeights::steps; ++i) {
        const FieldVector* const other = at(side, i);
        known[side][i] = other && limits.is_likely(*other);
      }
    const LineWeights weights(known);
    float x = 0, y = 0;
    for (int side = 0; side < 2; ++side)
      for (int i = 0; i < LineWeights::steps; ++i) {
        const float weight = weights.of[side][i];
        if (weight == 0) continue;
        const FieldVector& other = *at(side, i);
        x += weight * other.dx;
        y += weight * other.dy;
      }
    dx.set(line, x, weights.any());
    dy.set(line, y, weights.any());
  }
  if (dx.count() < 2) return false;
  const FieldVector& own = vectors[std::int64_t{row} * grid.width + column];
  const float median_x = dx.median(), median_y = dy.median();
  const float x =
      strangeness(own.dx, median_x, fminf(dx.median_distance(median_x), spread_x), limits);
  const float y =
      strangeness(own.dy, median_y, fminf(dy.median_distance(median_y), spread_y), limits);
  return x * x + y * y <= limits.median_limit * limits.median_limit;
}

/// A vector of the grid after the test. `neighbours`: of the window, or null for its neighbours in
/// the grid.
XCORR_HD inline FieldVector validated(const FieldPlausibility& limits, const FieldVector* vectors,
                                      Size grid, int column, int row,
                                      const FieldNeighbours* neighbours) {
  const std::int64_t own = std::int64_t{row} * grid.width + column;
  FieldVector vector = vectors[own];
  Neighbours dx, dy;
  XCORR_UNROLL
  for (int i = 0; i < 8; ++i) {
    const int place = i < 4 ? i : i + 1;  // without the vector itself
    const int x = column + place % 3 - 1, y = row + place / 3 - 1;
    const bool inside = x >= 0 && y >= 0 && x < grid.width && y < grid.height;
    const std::int64_t in_grid = inside ? std::int64_t{y} * grid.width + x : -1;
    const std::int64_t node = neighbours ? neighbours->node[i] : in_grid;
    const FieldVector& other = vectors[node >= 0 ? node : own];
    const bool counts = node >= 0 && limits.is_likely(other);
    dx.set(i, other.dx, counts);
    dy.set(i, other.dy, counts);
  }
  const bool likely = limits.is_likely(vector);
  if (!likely && vector.status == FieldStatus::ok) vector.status = FieldStatus::replaced;
  if (dx.count() == 0) return vector;
  const float median_x = dx.median(), median_y = dy.median();
  if (likely) {
    // Of two neighbours either may be the one that is wrong.
    if (limits.median_limit <= 0 || dx.count() < 3) return vector;
    const float spread_x = dx.median_distance(median_x), spread_y = dy.median_distance(median_y);
    const float x = strangeness(vector.dx, median_x, spread_x, limits);
    const float y = strangeness(vector.dy, median_y, spread_y, limits);
    if (x * x + y * y <= limits.median_limit * limits.median_limit ||
        (!neighbours && continues(limits, vectors, grid, column, row, spread_x, spread_y)))
      return vector;
    vector.status = FieldStatus::replaced;
  }
  vector.dx = median_x;
  vector.dy = median_y;
  vector.dx_by_x = vector.dx_by_y = vector.dy_by_x = vector.dy_by_y = 0;
  vector.sigma = 0;
  return vector;
}

namespace stage {

struct Validate {
  static constexpr const char* name = "validate";

  struct Problem {
    Size grid;
    FieldPlausibility limits = {};
    bool explicit_places = false;  ///< windows are given one by one, and their neighbours with them

    constexpr Features features() const { return {}; }
  };

  struct Buffers : Launch {
    const FieldVector* vectors = nullptr;
    const FieldNeighbours* neighbours = nullptr;
    FieldVector* validated = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("vectors", &Buffers::vectors, records<FieldVector>(p.grid.area()));
    visit("neighbours", &Buffers::neighbours,
          records<FieldNeighbours>(p.explicit_places ? p.grid.area() : 0));
    visit("validated", &Buffers::validated, records<FieldVector>(p.grid.area()));
  }
};

}  // namespace stage
}  // namespace xcorr
