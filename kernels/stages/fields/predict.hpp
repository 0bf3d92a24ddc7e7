// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage predict: a pass's field -> the windows of the next pass and what is expected of them:
// displacements between the nodes of the field, bilinearly, and the slopes of the smoothed field.
// Windows of a list are the same ones in each pass; slopes are those of a plane through neighbours.
// Of deformed images nothing more is expected than what they were deformed by.
// After least squares a window may also be bent, as the slopes found change from node to node.
#pragma once

#include "stages/fields/window_search.hpp"

namespace xcorr {

/// The slopes of what is believed: what was replaced has none of its own.
XCORR_HD inline bool has_slopes(const FieldVector& vector) {
  return vector.status == FieldStatus::ok;
}

/// From how slopes change along each axis.
XCORR_HD inline FieldBend bend_from(const FieldSlopes& by_x, const FieldSlopes& by_y) {
  return {by_x.dx_by_x, 0.5F * (by_x.dx_by_y + by_y.dx_by_x), by_y.dx_by_y,
          by_x.dy_by_x, 0.5F * (by_x.dy_by_y + by_y.dy_by_x), by_y.dy_by_y};
}
/// Adds weighted differences of slopes.
XCORR_HD inline void add_change(float weight, const FieldVector& from, const FieldVector& to,
                                FieldSlopes& change) {
  change.dx_by_x += weight * (to.dx_by_x - from.dx_by_x);
  change.dx_by_y += weight * (to.dx_by_y - from.dx_by_y);
  change.dy_by_x += weight * (to.dy_by_x - from.dy_by_x);
  change.dy_by_y += weight * (to.dy_by_y - from.dy_by_y);
}
/// Those of its vector, where it has any.
XCORR_HD inline void take_slopes(const FieldVector& vector, InterrogationWindow& window) {
  if (!has_slopes(vector)) return;
  window.dx_by_x = vector.dx_by_x;
  window.dx_by_y = vector.dx_by_y;
  window.dy_by_x = vector.dy_by_x;
  window.dy_by_y = vector.dy_by_y;
}

/// A grid of windows.
struct FieldGrid {
  Size count;     ///< columns and rows
  int left, top;  ///< the upper left corner of the first window
  int spacing;    ///< pixels
  int window;     ///< pixels along a side

  XCORR_HD float center_x(float column) const {
    return static_cast<float>(left) + column * static_cast<float>(spacing) +
           0.5F * static_cast<float>(window - 1);
  }
  XCORR_HD float center_y(float row) const {
    return static_cast<float>(top) + row * static_cast<float>(spacing) +
           0.5F * static_cast<float>(window - 1);
  }
};

/// Displacements at the nodes of a grid.
struct FieldOnGrid {
  const FieldVector* vectors;
  FieldGrid grid;

  XCORR_HD const FieldVector& at(int column, int row) const {
    return vectors[std::int64_t{row} * grid.count.width + column];
  }
  XCORR_HD static float clamped(float value, int count) {
    const auto last = static_cast<float>(count - 1);
    return value < 0 ? 0 : value > last ? last : value;
  }

  /// Columns and rows of the grid at a place; past the outermost nodes, those.
  XCORR_HD float column_at(float x) const {
    return clamped((x - grid.center_x(0)) / static_cast<float>(grid.spacing), grid.count.width);
  }
  XCORR_HD float row_at(float y) const {
    return clamped((y - grid.center_y(0)) / static_cast<float>(grid.spacing), grid.count.height);
  }

  /// The displacement at a place.
  XCORR_HD FieldPlace displacement(float x, float y) const {
    const float u = column_at(x), v = row_at(y);
    const int column = static_cast<int>(u), row = static_cast<int>(v);
    const int next = column + 1 < grid.count.width ? column + 1 : column;
    const int below = row + 1 < grid.count.height ? row + 1 : row;
    const float across = u - static_cast<float>(column), down = v - static_cast<float>(row);
    const FieldVector &a = at(column, row), &b = at(next, row), &c = at(column, below),
                      &d = at(next, below);
    const auto between = [&](float p, float q, float r, float s) {
      const float upper = p + across * (q - p), lower = r + across * (s - r);
      return upper + down * (lower - upper);
    };
    return {between(a.dx, b.dx, c.dx, d.dx), between(a.dy, b.dy, c.dy, d.dy)};
  }

  /// Displacement and slopes at a place.
  XCORR_HD void expect(float x, float y, InterrogationWindow& window) const {
    const FieldPlace moved = displacement(x, y);
    window.dx = moved.x;
    window.dy = moved.y;
    set_slopes(static_cast<int>(column_at(x) + 0.5F), static_cast<int>(row_at(y) + 0.5F), window);
  }

  /// How slopes change at a node.
  XCORR_HD FieldBend bend(int column, int row) const {
    return bend_from(change(column, row, 1, 0), change(column, row, 0, 1));
  }

 private:
  /// Of slopes, a pixel, between the nodes next to one, or between one of them and that one.
  XCORR_HD FieldSlopes change(int column, int row, int across, int down) const {
    const auto usable = [&](int x, int y) {
      return x >= 0 && y >= 0 && x < grid.count.width && y < grid.count.height &&
             has_slopes(at(x, y));
    };
    const int before = usable(column - across, row - down) ? 1 : 0;
    const int after = usable(column + across, row + down) ? 1 : 0;
    FieldSlopes found{0, 0, 0, 0};
    if (before + after == 0 || (before + after == 1 && !usable(column, row))) return found;
    add_change(1 / static_cast<float>((before + after) * grid.spacing),
               at(column - before * across, row - before * down),
               at(column + after * across, row + after * down), found);
    return found;
  }

  /// Of the field smoothed by 1/4, 1/2, 1/4 in both directions, by central differences; near the
  /// grid's border those of the node next to it.
  XCORR_HD void set_slopes(int column, int row, InterrogationWindow& window) const {
    window.dx_by_x = window.dx_by_y = window.dy_by_x = window.dy_by_y = 0;
    const auto inner = [](int i, int count) { return i < 1 ? 1 : i > count - 2 ? count - 2 : i; };
    if (grid.count.width < 3 || grid.count.height < 3) return;
    column = inner(column, grid.count.width);
    row = inner(row, grid.count.height);
    const float scale = 1 / (32 * static_cast<float>(grid.spacing));
    for (int j = -2; j <= 2; ++j)
      for (int i = -2; i <= 2; ++i) {
        const FieldVector& node =
            at(kept(column + i, grid.count.width), kept(row + j, grid.count.height));
        const float by_x = difference(i) * smoothing(j), by_y = smoothing(i) * difference(j);
        window.dx_by_x += scale * by_x * node.dx;
        window.dx_by_y += scale * by_y * node.dx;
        window.dy_by_x += scale * by_x * node.dy;
        window.dy_by_y += scale * by_y * node.dy;
      }
  }
  XCORR_HD static int kept(int i, int count) { return i < 0 ? 0 : i < count ? i : count - 1; }
  /// Four times the weights of a smoothing, and eight times those of a difference of what was
  /// smoothed.
  XCORR_HD static float smoothing(int i) { return i == 0 ? 2.F : i == 1 || i == -1 ? 1.F : 0.F; }
  XCORR_HD static float difference(int i) {
    return static_cast<float>(i == 2 || i == -2 ? i / 2 : 2 * i);
  }
};

namespace stage {

struct Predict {
  static constexpr const char* name = "predict";

  struct Problem {
    Size frame;
    FieldGrid from, to;
    bool symmetric = false;
    bool explicit_places = false;  ///< windows are those of a list, and as many as vectors
    /// `to` is `from`, its vectors have slopes, and windows take these and are bent as they change.
    bool bent = false;
    /// The windows are those of images that were deformed by the vectors; not of a list.
    bool deformed = false;
    int margin = 0;  ///< of those images

    constexpr Features features() const { return {}; }
  };

  struct Buffers : Launch {
    const FieldVector* vectors = nullptr;
    const FieldStatus* nodes = nullptr;  ///< of the windows of a grid: ok, or masked
    const InterrogationWindow* explicit_windows =
        nullptr;  ///< the windows of a list: where they are, and their status
    const FieldNeighbours* neighbours = nullptr;  ///< of these
    InterrogationWindow* windows = nullptr;
    FieldBend* bends = nullptr;  ///< of the windows, where they are bent
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("vectors", &Buffers::vectors, records<FieldVector>(p.from.count.area()));
    visit("nodes", &Buffers::nodes,
          records<FieldStatus>(p.explicit_places ? 0 : p.to.count.area()));
    visit("explicit_windows", &Buffers::explicit_windows,
          records<InterrogationWindow>(p.explicit_places ? p.to.count.area() : 0));
    visit("neighbours", &Buffers::neighbours,
          records<FieldNeighbours>(p.explicit_places ? p.to.count.area() : 0));
    visit("windows", &Buffers::windows, records<InterrogationWindow>(p.to.count.area()));
    visit("bends", &Buffers::bends, records<FieldBend>(p.bent ? p.to.count.area() : 0));
  }
};

}  // namespace stage

/// With central differences half the way back, as far as that is inside the reference.
XCORR_HD inline InterrogationWindow halfway(const stage::Predict::Problem& p,
                                            InterrogationWindow window) {
  if (!p.symmetric) return window;
  const auto moved = [&](int from, float by, int length) {
    const int to = from - SearchedPlaces::whole(0.5F * by), last = length - p.to.window;
    return to < 0 ? 0 : to > last ? last : to;
  };
  const int x = moved(window.x, window.dx, p.frame.width);
  const int y = moved(window.y, window.dy, p.frame.height);
  window.node_x = static_cast<float>(window.x - x);
  window.node_y = static_cast<float>(window.y - y);
  window.x = x;
  window.y = y;
  return window;
}

/// Whether what a window shows has its centre in both images, when it moves as expected.
XCORR_HD inline bool is_in_both(const stage::Predict::Problem& p,
                                const InterrogationWindow& window) {
  const float half = 0.5F * static_cast<float>(p.to.window - 1), after = p.symmetric ? 0.5F : 1.0F;
  const auto inside = [&](int corner, float moved, int length) {
    const float from = static_cast<float>(corner) + half - (1 - after) * moved, to = from + moved;
    const auto last = static_cast<float>(length - 1);
    return from >= 0 && to >= 0 && from <= last && to <= last;
  };
  return inside(window.x, window.dx, p.frame.width) && inside(window.y, window.dy, p.frame.height);
}

/// A window of the next pass.
XCORR_HD inline InterrogationWindow predicted(const stage::Predict::Problem& p,
                                              const FieldVector* vectors, FieldStatus node,
                                              int column, int row) {
  InterrogationWindow window{p.to.left + column * p.to.spacing, p.to.top + row * p.to.spacing};
  window.status = node;
  FieldOnGrid{vectors, p.from}.expect(p.to.center_x(static_cast<float>(column)),
                                      p.to.center_y(static_cast<float>(row)), window);
  if (p.bent) take_slopes(FieldOnGrid{vectors, p.from}.at(column, row), window);
  if (!p.deformed) return halfway(p, window);
  // Beyond its edges a deformed image shows nothing that could be found.
  if (window.status == FieldStatus::ok && !is_in_both(p, window))
    window.status = FieldStatus::out_of_range;
  window.deformed_dx = window.dx;
  window.deformed_dy = window.dy;
  window.dx = window.dy = 0;
  window.x += p.margin;
  window.y += p.margin;
  window.node_x = window.node_y = static_cast<float>(-p.margin);
  return window;
}

/// The same of a list, from its vector of the pass before.
XCORR_HD inline InterrogationWindow predicted(const stage::Predict::Problem& p,
                                              const FieldVector* vectors, const FieldVector& own,
                                              InterrogationWindow window,
                                              const FieldNeighbours& neighbours) {
  window.dx = own.dx;
  window.dy = own.dy;
  XCORR_UNROLL
  for (int i = 0; i < FieldNeighbours::most; ++i) {
    if (neighbours.node[i] < 0) continue;
    const FieldVector& other = vectors[neighbours.node[i]];
    const float dx = other.dx - own.dx, dy = other.dy - own.dy;
    window.dx_by_x += neighbours.by_x[i] * dx;
    window.dx_by_y += neighbours.by_y[i] * dx;
    window.dy_by_x += neighbours.by_x[i] * dy;
    window.dy_by_y += neighbours.by_y[i] * dy;
  }
  if (p.bent) take_slopes(own, window);
  return halfway(p, window);
}

/// How a window is bent.
XCORR_HD inline FieldBend bend_of(const stage::Predict::Problem& p, const FieldVector* vectors,
                                  int column, int row) {
  return FieldOnGrid{vectors, p.from}.bend(column, row);
}

/// The same of a list.
XCORR_HD inline FieldBend bend_of(const FieldVector* vectors, const FieldVector& own,
                                  const FieldNeighbours& neighbours) {
  FieldSlopes by_x{0, 0, 0, 0}, by_y{0, 0, 0, 0};
  for (int i = 0; has_slopes(own) && i < FieldNeighbours::most; ++i) {
    if (neighbours.node[i] < 0 || !has_slopes(vectors[neighbours.node[i]])) continue;
    add_change(neighbours.by_x[i], own, vectors[neighbours.node[i]], by_x);
    add_change(neighbours.by_y[i], own, vectors[neighbours.node[i]], by_y);
  }
  return bend_from(by_x, by_y);
}

}  // namespace xcorr
