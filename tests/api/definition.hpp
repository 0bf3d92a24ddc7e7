// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A whole match by its definition, from the pixels: the score of every shift, then the peaks of
// MatchSettings. The scores are the oracle's; definition_test.cpp compares them with independently
// computed numbers.
#pragma once

#include <algorithm>

#include "oracle/reference_methods.hpp"
#include "support.hpp"

namespace api {

template <class T>
cpu::plain::Matrix<T> matrix(const Image<T>& image, int x = 0, int y = 0) {
  const auto* data =
      reinterpret_cast<const std::byte*>(&image.data[std::size_t(y) * image.size.width + x]);
  return {data, static_cast<std::int64_t>(image.size.width * sizeof(T)), image.size};
}

/// Which pixels of a pattern count; by default all.
using cpu::plain::Mask;

inline Mask mask_of(const Image<std::uint8_t>& image) {
  return {image.data.data(), image.size.width};
}

template <class T>
double defined_score(Method method, const Image<T>& frame, int x, int y, const Image<T>& pattern,
                     const Mask& mask = {}) {
  auto window = matrix(frame, x, y);
  window.size = pattern.size;
  return cpu::plain::method_score(method, cpu::plain::terms_of(window, matrix(pattern), mask));
}

/// The standard deviation of the pixels that count in a window of that size.
template <class T>
double deviation(const Image<T>& frame, int x, int y, Size size, const Mask& mask = {}) {
  auto window = matrix(frame, x, y);
  window.size = size;
  const double mean = cpu::plain::mean_of(window, mask);
  double squares = 0;
  const auto n = cpu::plain::for_counted(size, mask, [&](int i, int j) {
    squares += mask.times(i, j) * (window.at(i, j) - mean) * (window.at(i, j) - mean);
  });
  return std::sqrt(squares / static_cast<double>(n));
}

/// The threshold times the score of an exact copy, unreachable when that is 0; for the minimum
/// methods, (1 - threshold) times the score of a zero window.
template <class T>
double defined_limit(const MatchSettings& settings, const Image<T>& pattern,
                     const Mask& mask = {}) {
  const Image<T> black(pattern.size, 0);
  if (info(settings.method).minimum)
    return (1 - settings.threshold) * defined_score(settings.method, black, 0, 0, pattern, mask);
  const double copy = defined_score(settings.method, pattern, 0, 0, pattern, mask);
  return copy > 0 ? settings.threshold * copy : HUGE_VAL;
}

/// Whole-pixel peaks, best first.
template <class T>
std::vector<Peak> defined_peaks(const Image<T>& frame, const Image<T>& pattern,
                                const MatchSettings& settings, const Mask& mask = {}) {
  const int width = frame.size.width - pattern.size.width + 1;
  const int height = frame.size.height - pattern.size.height + 1;
  const bool minimum = info(settings.method).minimum;
  // As they count: those of the opposite contrast are what the inverted template scores.
  Image<double> scores({width, height});
  Image<std::uint8_t> inverted({width, height});
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const double score = defined_score(settings.method, frame, x, y, pattern, mask);
      inverted.at(x, y) = settings.polarity == Polarity::inverted ||
                          (settings.polarity == Polarity::either && score < 0);
      scores.at(x, y) = inverted.at(x, y) ? -score : score;
      if (settings.min_contrast > 0 &&
          deviation(frame, x, y, pattern.size, mask) < settings.min_contrast)
        scores.at(x, y) = minimum ? HUGE_VAL : -HUGE_VAL;
    }

  const auto before = [&](int x, int y, int u, int v) {
    const double a = scores.at(x, y), b = scores.at(u, v);
    if (a != b) return minimum ? a < b : a > b;
    return y != v ? y < v : x < u;
  };
  const int d = settings.min_peak_distance;
  const int dx = d ? d : std::max(1, pattern.size.width / 2);
  const int dy = d ? d : std::max(1, pattern.size.height / 2);
  const double limit = defined_limit(settings, pattern, mask);
  std::vector<Peak> peaks;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      bool is_peak = minimum ? scores.at(x, y) <= limit : scores.at(x, y) >= limit;
      for (int v = std::max(0, y - 1); is_peak && v < std::min(height, y + 2); ++v)
        for (int u = std::max(0, x - 1); is_peak && u < std::min(width, x + 2); ++u)
          is_peak = !before(u, v, x, y);
      if (is_peak)
        peaks.push_back({0,
                         double(x),
                         double(y),
                         pattern.size.width,
                         pattern.size.height,
                         scores.at(x, y),
                         0,
                         {},
                         inverted.at(x, y) != 0});
    }
  std::sort(peaks.begin(), peaks.end(), [&](const Peak& a, const Peak& b) {
    return before(int(a.x), int(a.y), int(b.x), int(b.y));
  });
  std::vector<Peak> kept;
  for (const Peak& peak : peaks)
    if (kept.size() < std::size_t(settings.max_peaks) &&
        std::ranges::none_of(kept, [&](const Peak& other) {
          return std::abs(peak.x - other.x) < dx && std::abs(peak.y - other.y) < dy;
        }))
      kept.push_back(peak);
  return kept;
}

}  // namespace api
