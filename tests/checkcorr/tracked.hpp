// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Windows of a case's first left, for filters that learn: what the tests of their stages have in
// common.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "posed.hpp"
#include "stages/tracker/crop.hpp"
#include "stages/tracker/filter_response.hpp"

namespace checkcorr {

/// Some cases of random bytes, tried once. In others gradients may be as near to one direction as
/// to the next, and rounding decides.
inline bool is_tracked(const Case& c) {
  return !c.filter && c.type == ElementType::u8 && is_matching(c) && c.fill == Fill::reals &&
         c.mask == Mask::none && c.form == Form::one_to_one && c.left.width >= 24 &&
         c.left.height >= 24 && c.left.area() <= 200 * 200;
}

inline constexpr int tracked_windows = 4, tracked_filters = 2;

/// The frame: of every third case two bytes are a pixel.
inline xcorr::stage::FeatureMaps::Problem feature_maps_problem(const Scenario& scenario) {
  Size frame = scenario.test.left;
  const bool packed = frame.width % 3 == 0 && frame.width >= 48;
  if (packed) frame.width /= 2;
  return {frame,
          {0, 0, frame.width, frame.height},
          scenario.problem.correlate.left_pitch,
          packed ? xcorr::packed_luma(2, 1) : xcorr::PixelLayout(),
          tracked_windows};
}

/// Round the frame's middle; the second one is left out, the third one is lower, to the left, and
/// of another size, the fourth one reaches above the frame.
inline std::vector<xcorr::tracker::Look> tracked_looks(Size frame) {
  const double side = 0.8 * std::min(frame.width, frame.height), pixel = side / 160;
  const double x = frame.width / 2.0 + 0.3, y = frame.height / 2.0 - 0.2;
  return {{x, y, side, 1, 0},
          {x, y, 0, 1, 0},
          {x - 9 * pixel, y + 13 * pixel, 1.02 * side, 1.02, 1},
          {x, y - 0.2 * side, 1.1 * side, 1.1, 0}};
}

/// The truth of the stages feature_maps and spectra.
inline xcorr::Status make_spectra(Scenario& scenario) {
  const auto p = feature_maps_problem(scenario);
  auto& values = scenario.values;
  const auto& lefts = values["lefts"];
  values["pixels"].assign(lefts.begin(), lefts.begin() + (p.frame.height - 1) * p.pitch +
                                             p.frame.width * p.layout.bytes);
  set(values, "looks", tracked_looks(p.frame));
  if (auto s = scenario.make<xcorr::stage::FeatureMaps>(p); !s.ok()) return s;
  return scenario.make<xcorr::stage::FeatureFft>({tracked_windows});
}

/// Two training samples: the second filter's first one, of the first window, and one of the third
/// window for the first filter, which knows the first window.
inline xcorr::Status make_filters(Scenario& scenario) {
  if (auto s = make_spectra(scenario); !s.ok()) return s;
  auto& values = scenario.values;
  const std::vector<std::byte> spectra = values["spectra"];
  const std::size_t bytes = xcorr::tracker::spectrum_floats * sizeof(float);
  const auto window = [&](std::vector<std::byte>& to, std::size_t i) {
    to.insert(to.end(), spectra.begin() + i * bytes, spectra.begin() + (i + 1) * bytes);
  };
  values["seen"].clear();
  window(values["seen"], 0);
  window(values["seen"], 2);
  values["means"].clear();
  window(values["means"], 0);
  window(values["means"], 3);  // of which nothing is left
  set(values, "training_samples", std::vector<xcorr::tracker::TrainingSample>{{1, 1}, {0, 0}});
  set(values, "shapes", std::vector<xcorr::tracker::FilterShape>{{10, 10}, {7.3, 14.1}});
  return scenario.make<xcorr::stage::FilterUpdate>({2, tracked_filters});
}

/// Floats that may be off by a share of the largest one. `windows`: those of which there are some
/// at all, each with as many floats; empty: all.
inline void compare_floats(Comparison& comparison, const Values& expected, const Values& got,
                           const char* name, double share, const std::vector<int>& windows = {}) {
  const auto right = view<float>(expected, name), made = view<float>(got, name);
  const std::size_t each = right.size() / (windows.empty() ? 1 : tracked_windows);
  for (const int window : windows.empty() ? std::vector<int>{0} : windows) {
    const std::size_t first = window * each;
    float largest = 0;
    for (std::size_t i = first; i < first + each; ++i)
      largest = std::max(largest, std::abs(right[i]));
    for (std::size_t i = first; i < first + each; ++i)
      comparison.value([&] { return std::string(name) + '[' + std::to_string(i) + ']'; }, right[i],
                       made[i], share * largest);
  }
}

/// Those that are looked at.
inline const std::vector<int> looked_at{0, 2, 3};

}  // namespace checkcorr
