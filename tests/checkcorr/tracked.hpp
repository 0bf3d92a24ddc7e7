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
#include "stages/tracker/histograms.hpp"

namespace checkcorr {

/// Some cases of random bytes, tried once. In others gradients may be as near to one direction as
/// to the next, and rounding decides.
inline bool is_tracked(const Case& c) {
  return !c.filter && c.type == ElementType::u8 && is_matching(c) && c.fill == Fill::reals &&
         c.mask == Mask::none && c.form == Form::one_to_one && c.left.width >= 24 &&
         c.left.height >= 24 && c.left.area() <= 200 * 200;
}

inline constexpr int tracked_windows = 4, tracked_filters = 3;

/// The frame: of every third case two bytes are a pixel, of every second one windows are turned.
/// Its colours are none, RGB, or luma and subsampled chroma.
inline xcorr::stage::FeatureMaps::Problem feature_maps_problem(const Scenario& scenario) {
  using namespace xcorr::tracker;
  Size frame = scenario.test.left;
  const bool packed = frame.width % 3 == 0 && frame.width >= 48;
  if (packed) frame.width /= 2;
  const std::int64_t pitch = scenario.problem.correlate.left_pitch;
  xcorr::stage::FeatureMaps::Problem p{
      frame, pitch, packed ? xcorr::packed_luma(2, 1) : xcorr::PixelLayout(), tracked_windows};
  p.turned = frame.height % 2 == 0;
  const auto kind = static_cast<Colors>(frame.height % 3);
  p.colors.colors = kind;
  p.colors.planes[0] = {pitch, packed ? 2 : 1, packed ? 1 : 0, 0, 0};
  if (kind == Colors::rgb) {
    for (int i = 0; i < xcorr::color_planes; ++i)
      p.colors.planes[i] = {3 * std::int64_t{frame.width} + 5, 3, 2 - i, 0, 0};
  } else if (kind == Colors::luma_chroma) {
    for (int i = 1; i < xcorr::color_planes; ++i) p.colors.planes[i] = {pitch, 2, i - 1, 1, 1};
  }
  return p;
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

/// Upright, none, turned a little, and upside down.
inline std::vector<xcorr::tracker::Cropping> tracked_croppings(
    const std::vector<xcorr::tracker::Look>& looks) {
  std::vector<xcorr::tracker::Cropping> croppings;
  for (const double angle : {0.0, 0.0, 33.0, -171.0})
    croppings.emplace_back(looks[croppings.size()], angle);
  return croppings;
}

/// The planes of the frame's colours.
inline void set_planes(Values& values, const xcorr::tracker::ColorLayout& colors,
                       xcorr::Size frame) {
  const auto& lefts = values["lefts"];
  for (int i = 0; i < xcorr::color_planes; ++i) {
    auto& plane = values["plane_" + std::to_string(i)];
    plane.resize(static_cast<std::size_t>(colors.bytes_of(i, frame)));
    for (std::size_t k = 0; k < plane.size(); ++k) plane[k] = lefts[(k + 37 * i) % lefts.size()];
  }
}

/// The truth of the stages feature_maps and spectra.
inline xcorr::Status make_spectra(Scenario& scenario) {
  const auto p = feature_maps_problem(scenario);
  auto& values = scenario.values;
  const auto& lefts = values["lefts"];
  values["pixels"].assign(lefts.begin(), lefts.begin() + (p.frame.height - 1) * p.pitch +
                                             p.frame.width * p.layout.bytes);
  set(values, "looks", tracked_looks(p.frame));
  set(values, "croppings", tracked_croppings(tracked_looks(p.frame)));
  set_planes(values, p.colors, p.frame);
  if (auto s = scenario.make<xcorr::stage::FeatureMaps>(p); !s.ok()) return s;
  return scenario.make<xcorr::stage::FeatureFft>({tracked_windows});
}

/// Three training samples: the second filter's first one, of the first window; one of the third
/// window for the first filter, whose memory is full, and one for the third filter's memory, which
/// changes the sample before.
inline std::vector<xcorr::tracker::TrainingSample> tracked_samples() {
  return {{1, 1, 0, -1, 0, {1}},
          {0, xcorr::tracker::samples_kept, 4, 2, 0.3f, {0.4f, 0.1f, 0.2f, 0.15f, 0.05f, 0.1f}},
          {2, 3, -1, 1, 0.25f, {0.5f, 0.3f, 0.2f}}};
}
inline xcorr::Status make_filters(Scenario& scenario) {
  if (auto s = make_spectra(scenario); !s.ok()) return s;
  auto& values = scenario.values;
  const std::vector<std::byte> spectra = values["spectra"];
  const std::size_t bytes = xcorr::tracker::spectrum_floats * sizeof(float);
  const auto window = [&](std::vector<std::byte>& to, std::size_t i) {
    to.insert(to.end(), spectra.begin() + i * bytes, spectra.begin() + (i + 1) * bytes);
  };
  values["seen"].clear();
  for (const std::size_t i : {0, 2, 3}) window(values["seen"], i);
  values["samples"].clear();
  for (int filter = 0; filter < tracked_filters; ++filter)
    for (const std::size_t i : {0, 3, 0, 2, 3, 2}) window(values["samples"], i);
  // Filters that respond with about as much as they ought to.
  const auto seen = view<float>(values, "spectra");
  std::vector<float> known;
  for (std::size_t i = 0; i < 2 * tracked_filters * xcorr::tracker::spectrum_floats; ++i)
    known.push_back(2e-5f * seen[i % xcorr::tracker::spectrum_floats]);
  set(values, "known", known);
  set(values, "training_samples", tracked_samples());
  set(values, "shapes", std::vector<xcorr::tracker::FilterShape>{{10, 10}, {7.3, 14.1}, {12, 8}});
  return scenario.make<xcorr::stage::FilterUpdate>({tracked_filters, tracked_filters});
}

/// The frame's windows, each for a filter of its own.
inline xcorr::stage::ColorWindows color_windows(const Scenario& scenario) {
  const auto p = feature_maps_problem(scenario);
  return {tracked_windows, tracked_windows, p.frame, p.colors};
}

/// The truth of the stage histogram_update: what the first filter has learnt is its first window,
/// the others have learnt before.
inline xcorr::Status make_histograms(Scenario& scenario) {
  const auto p = color_windows(scenario);
  auto& values = scenario.values;
  set_planes(values, p.colors, p.frame);
  auto looks = tracked_looks(scenario.test.left);
  std::vector<xcorr::tracker::ColorHistograms> known(tracked_windows);
  for (int i = 0; i < tracked_windows; ++i) {
    looks[i].filter = i;
    auto& histograms = known[i];
    for (int bin = 0; bin < xcorr::tracker::color_bins; ++bin) {
      histograms.target[bin] = static_cast<float>((bin * 7 + i) % 11) * 1e-4f;
      histograms.around[bin] = static_cast<float>((bin * 3 + i) % 13) * 1e-4f;
      histograms.first[bin] = static_cast<float>((bin + i) % 5) * 2e-4f;
    }
    histograms.inside = 0.6, histograms.outside = 0.35, histograms.times = 3 * i;
  }
  set(values, "looks", looks);
  set(values, "croppings", tracked_croppings(looks));
  set(values, "shapes",
      std::vector<xcorr::tracker::FilterShape>{{10, 10}, {8, 8}, {7.3, 14.1}, {21, 5}});
  set(values, "known", known);
  return scenario.make<xcorr::stage::HistogramUpdate>({p});
}

/// Floats that may be off by a share of the largest one. `parts`: those of which there are some at
/// all, of `count` with as many floats each; empty: all.
inline void compare_floats(Comparison& comparison, const Values& expected, const Values& got,
                           const char* name, double share, const std::vector<int>& parts = {},
                           int count = tracked_windows) {
  const auto right = view<float>(expected, name), made = view<float>(got, name);
  const std::size_t each = right.size() / (parts.empty() ? 1 : count);
  for (const int part : parts.empty() ? std::vector<int>{0} : parts) {
    const std::size_t first = part * each;
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
