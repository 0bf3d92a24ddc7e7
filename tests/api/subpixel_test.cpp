// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A smooth texture of slanted waves, shifted by tenths of a pixel along x, y and both, is found
// within a tenth of a pixel. A parabola along each axis is off by up to four tenths.
#include <cmath>
#include <utility>

#include "support.hpp"

namespace api {
namespace {

/// Waves of at least ten pixels, between 30 and 226, most of them slanted the same way: a shift
/// along x looks in part like one along y.
double texture(double x, double y) {
  return 128 + 40 * std::sin(0.35 * x - 0.42 * y + 0.3) + 35 * std::sin(0.52 * x - 0.27 * y + 1.1) +
         20 * std::sin(0.4 * x + 0.38 * y + 2);
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
    // The pattern is the texture around its origin, which lies at (x, y) in the frame.
    const auto pattern = sampled<T>({25, 21}, 0, 0);
    for (const auto& [along_x, along_y] :
         {std::pair{0.1, 0.0}, {0.0, 0.1}, {0.1, 0.1}, {0.1, -0.1}})
      for (int step = -5; step <= 5; ++step) {
        const double x = 6 + along_x * step, y = 5 + along_y * step;
        const auto peaks = match(device, pattern, sampled<T>({37, 31}, x, y), s);
        ASSERT_EQ(peaks.size(), 1u) << x << ' ' << y;
        EXPECT_NEAR(peaks[0].x, x, 0.1) << y;
        EXPECT_NEAR(peaks[0].y, y, 0.1) << x;
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
