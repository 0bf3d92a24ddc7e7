// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Displacement fields of pairs whose truth is known because both images are drawn from the same
// places (bench/fields/pairs.hpp): what their tests have in common.
#pragma once

#include <xcorr/field.hpp>

#include <algorithm>
#include <cmath>

#include "fields/pairs.hpp"
#include "support.hpp"

namespace api {

using Bytes = Image<std::uint8_t>;
using fields::GrayImage;
using fields::Pair;

inline constexpr Size size{256, 192};

inline FieldSettings least_squares(int order, int window = 33) {
  FieldSettings s;
  s.windows = {window};
  s.subpixel = FieldSubpixel::least_squares;
  s.order = order;
  return s;
}

/// Of the vectors at least `margin` pixels from the image's edges.
struct Errors {
  double rms = 0, mean_x = 0, mean_y = 0, sigma = 0;
  int count = 0, not_ok = 0;

  double greatest_mean() const { return std::max(std::abs(mean_x), std::abs(mean_y)); }
};

class FieldTest : public BackendTest {
 protected:
  FieldMatcher make(const FieldSettings& settings, Size image = size, const MatrixView& mask = {}) {
    auto made = FieldMatcher::make(device, image, settings, mask);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::move(made.value());
  }

  std::vector<FieldVector> match(const MatrixView& reference, const MatrixView& frame,
                                 const FieldSettings& settings, const MatrixView& mask = {}) {
    FieldMatcher matcher = make(settings, reference.size, mask);
    std::vector<FieldVector> vectors;
    const Status status = matcher.match(reference, frame, vectors);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(vectors.size(), static_cast<std::size_t>(matcher.grid().area()));
    for (const FieldVector& v : vectors) expect_finite(v);
    return vectors;
  }
  std::vector<FieldVector> match(const Pair& pair, const FieldSettings& settings) {
    return match(pair.first.view(), pair.second.view(), settings);
  }

  static void expect_finite(const FieldVector& v) {
    for (const float value : {v.x, v.y, v.dx, v.dy, v.dx_by_x, v.dx_by_y, v.dy_by_x, v.dy_by_y,
                              v.score, v.ratio, v.sigma})
      EXPECT_TRUE(std::isfinite(value));
    EXPECT_GE(v.score, -1);
    EXPECT_LE(v.score, 1);
    EXPECT_GE(v.ratio, 1);
    EXPECT_GE(v.sigma, 0);
  }

  template <class Truth>
  static Errors errors_of(const std::vector<FieldVector>& vectors, const Truth& truth,
                          float margin = 28) {
    Errors e;
    for (const FieldVector& v : vectors) {
      if (v.x < margin || v.y < margin || v.x > size.width - margin || v.y > size.height - margin)
        continue;
      const fields::Point right = truth({v.x, v.y});
      e.rms += std::pow(v.dx - right.x, 2) + std::pow(v.dy - right.y, 2);
      e.mean_x += v.dx - right.x;
      e.mean_y += v.dy - right.y;
      e.sigma += v.sigma;
      e.not_ok += v.status != FieldStatus::ok;
      ++e.count;
    }
    EXPECT_GT(e.count, 10);
    e.rms = std::sqrt(e.rms / (2 * e.count));
    e.mean_x /= e.count;
    e.mean_y /= e.count;
    e.sigma /= e.count;
    return e;
  }
  Errors errors(const Pair& pair, const FieldSettings& settings) {
    return errors_of(match(pair, settings), pair.truth);
  }

  /// The images show the same random pixels, (dx, dy) apart.
  struct Shifted {
    Bytes first, second;

    Shifted(int dx, int dy) : first(size), second(size) {
      const Bytes all = random_image<std::uint8_t>({size.width + 200, size.height + 200}, 7);
      for (int y = 0; y < size.height; ++y)
        for (int x = 0; x < size.width; ++x) {
          first.at(x, y) = all.at(x + 100, y + 100);
          second.at(x, y) = all.at(x + 100 - dx, y + 100 - dy);
        }
    }
  };
};

}  // namespace api
