// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage filter_response: the channels of windows, filters -> where in each search window the
// filter responds most, and its PSR. Another model of the target may have a say in where that is,
// by what it adds to the response.
//
// The surroundings help to find a target, but not to tell whether it is there: where the camera
// stands still they respond alone. So PSR is that of the part of the filter on the target.
#pragma once

#include "stages/tracker/filter_update.hpp"

namespace xcorr {
namespace tracker {

/// What lies on the target decides alone where it is if it responds this many times as high there.
constexpr double most_elsewhere = 2;
/// How often a place between the cells is bettered at most; and a step, in cells, after which the
/// next one would be too short to count, as each squares what is left.
constexpr int climbing_steps = 4;
constexpr double last_step = 1e-3;

struct ResponsePeak {
  double x = 0, y = 0;           ///< where it is, from the window's middle, cells
  double response = 0, psr = 0;  ///< as of FilterDetection
};

/// From a row or column to another, around the window's edge if that is shorter.
XCORR_HD inline int apart(int a, int b) {
  const int away = a < b ? b - a : a - b;
  return away < grid - away ? away : grid - away;
}
/// The row or column beside one, around the window's edge.
XCORR_HD inline int beside(int a, int step) { return (a + step + grid) % grid; }

/// How far cells are from the best one that are still the target's.
struct TargetReach {
  int x, y;

  XCORR_HD explicit TargetReach(const FilterShape& shape)
      : x(least(shape.width / 2)), y(least(shape.height / 2)) {}
  XCORR_HD bool has(int at_x, int at_y, int best) const {
    return apart(at_x, best % grid) <= x && apart(at_y, best / grid) <= y;
  }
  /// How many there are.
  XCORR_HD int count() const { return along(x) * along(y); }

 private:
  XCORR_HD static int least(float half) { return half > 2 ? static_cast<int>(half) : 2; }
  XCORR_HD static int along(int reach) { return 2 * reach < grid ? 2 * reach + 1 : grid; }
};

XCORR_HD inline double from_middle(double at) { return at > grid / 2 ? at - grid : at; }

/// Cells.
struct Step {
  double x, y;
};

/// The slope and the curvature of a surface.
struct Slope {
  double gx = 0, gy = 0, hxx = 0, hxy = 0, hyy = 0;

  /// Adds those of a wave: its amplitude there, and its angle a cell.
  XCORR_HD void add(double real, double imag, double wx, double wy) {
    gx -= wx * imag;
    gy -= wy * imag;
    hxx -= wx * wx * real;
    hxy -= wx * wy * real;
    hyy -= wy * wy * real;
  }
  /// From here to where the top would be; not finite if there is none.
  XCORR_HD Step to_top() const {
    const double determinant = hxx * hyy - hxy * hxy;
    if (!(determinant > 0 && hxx < 0)) return {INFINITY, INFINITY};
    return {(hxy * gy - hyy * gx) / determinant, (hxy * gx - hxx * gy) / determinant};
  }
};

/// The steepest way up from a cell of a response to its top between the cells: Newton's method on
/// the trigonometric polynomial that its spectrum is. The place stays as it is if the top is not
/// within a cell. \param slope_at  returns the Slope at a place
template <class SlopeAt>
XCORR_HD void climb(double& x, double& y, SlopeAt slope_at) {
  double at_x = x, at_y = y;
  for (int i = 0; i < climbing_steps; ++i) {
    const Step step = slope_at(at_x, at_y).to_top();
    at_x += step.x;
    at_y += step.y;
    if (!(std::abs(at_x - x) <= 1 && std::abs(at_y - y) <= 1)) return;
    if (std::abs(step.x) + std::abs(step.y) < last_step) break;
  }
  x = at_x;
  y = at_y;
}

}  // namespace tracker

namespace stage {

struct FilterResponse {
  static constexpr const char* name = "filter_response";

  struct Problem {
    int windows = 1, filters = 1;
    int priors = 0;  ///< window w has that of w modulo so many; 0: none has one

    constexpr Features features() const { return Feature::f32; }
  };

  struct Buffers : Launch {
    const tracker::Look* looks = nullptr;
    const float* channels = nullptr;               ///< as of the stage feature_maps
    const double* energies = nullptr;              ///< of that, too
    const tracker::FilterShape* shapes = nullptr;  ///< of the filters
    const float* filters = nullptr;                ///< as of the stage filter_update
    /// What is added to a response at each shift when its top is looked for, [prior][shift]
    const float* priors = nullptr;
    tracker::ResponsePeak* response_peaks = nullptr;  ///< of the windows
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    const std::int64_t windows = p.windows, spectrum = tracker::spectrum_floats;
    visit("looks", &Buffers::looks, records<tracker::Look>(windows));
    visit("channels", &Buffers::channels,
          records<float>(windows * tracker::cells * tracker::channels));
    visit("energies", &Buffers::energies, records<double>(windows * tracker::energy_parts));
    visit("shapes", &Buffers::shapes, records<tracker::FilterShape>(p.filters));
    visit("filters", &Buffers::filters, records<float>(p.filters * 2 * spectrum));
    visit("priors", &Buffers::priors, records<float>(std::int64_t{p.priors} * tracker::cells));
    visit("response_peaks", &Buffers::response_peaks, records<tracker::ResponsePeak>(p.windows));
  }
};

}  // namespace stage
}  // namespace xcorr
