// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A smooth texture, shifted by tenths of a pixel, is found within a tenth of a pixel.
#include <cmath>

#include "support.hpp"

namespace api {
namespace {

/// A smooth texture of waves of at least nine pixels, between 8 and 248. Each wave has a mirror
/// image, so that a shift along one axis does not look like one along the other.
double texture(double x, double y) {
  return 128 + 20 * (std::sin(0.31 * x + 0.42 * y + 0.3) + std::cos(0.31 * x - 0.42 * y) +
                     std::sin(0.57 * x + 0.23 * y + 1.1) + std::cos(0.57 * x - 0.23 * y + 2.0) +
                     std::sin(0.13 * x + 0.61 * y + 0.7) + std::cos(0.13 * x - 0.61 * y + 1.5));
}

template <class T>
Image<T> sampled(Size size, double x0, double y0) {
  Image<T> image(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const double v = texture(x - x0, y - y0);
      image.at(x, y) = sizeof(T) == 1 ? static_cast<T>(std::lround(v)) : static_cast<T>(v);
    }
  return image;
}

class SubpixelTest : public TargetTest {
 protected:
  template <class T>
  void expect_places(Method method) {
    MatchSettings s = settings(method);
    s.subpixel = true;
    // The pattern is the texture around its origin, which lies at (dx + 20, dy + 15) in the frame.
    const auto pattern = sampled<T>({25, 21}, 0, 0);
    for (int step = -5; step <= 5; ++step) {
      const double dx = 0.1 * step, dy = -0.07 * step;
      const auto peaks = match(device, pattern, sampled<T>({64, 56}, 20 + dx, 15 + dy), s);
      ASSERT_EQ(peaks.size(), 1u) << step;
      EXPECT_NEAR(peaks[0].x, 20 + dx, 0.1);
      EXPECT_NEAR(peaks[0].y, 15 + dy, 0.1);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, SubpixelTest, testing::ValuesIn(targets()), name_of);

TEST_P(SubpixelTest, PlacesOfBytes) {
  for (const Method method : {Method::ccoeff_normed, Method::sqdiff})
    expect_places<std::uint8_t>(method);
}

TEST_P(SubpixelTest, PlacesOfFloats) {
  for (const Method method : {Method::ccoeff_normed, Method::sqdiff}) expect_places<float>(method);
}

}  // namespace
}  // namespace api
