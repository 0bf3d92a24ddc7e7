// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Turned windows by vectors, pixel by pixel and, of some, by their definition: the same ones, of
// frames of all pixels, at all sizes, inside of frames and far beyond.
#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "cpu/tracker/turned_window.hpp"
#include "oracle/turned_window.hpp"
#include "stages/tracker/turned_window.hpp"

namespace xcorr {
namespace {

using tracker::Cropping;
using tracker::window_size;

template <int bytes>
void compare(const PixelLayout& layout) {
  constexpr int width = 97, height = 61;
  std::minstd_rand random(bytes);
  std::vector<std::uint8_t> frame(std::size_t{width} * height * bytes);
  for (auto& value : frame) value = static_cast<std::uint8_t>(random() >> 8);
  const stage::FeatureMaps::Problem p{
      .frame = {width, height}, .pitch = width * bytes, .layout = layout, .turned = true};
  const std::uint8_t* const pixels = frame.data();
  std::vector<float> window(window_size * window_size);
  for (const double side : {20.0, 64.3, 161.0, 330.0, 500.0, 9000.0})
    for (const double angle : {0.0, 33.0, 90.0, -171.0})
      for (const double middle : {-80.0, 30.25, 1e7}) {
        const Cropping from({middle, 29.75, side, 1, 0}, angle);
        cpu::read_turned_window(p, pixels, from, window.data());
        if (angle == 33 && middle < 100) {
          const std::vector<double> right = cpu::turned_window(p, pixels, from);
          ASSERT_TRUE(std::ranges::equal(window, right)) << side << ' ' << middle;
        }
        for (int i = 0; i < window_size * window_size; ++i)
          ASSERT_EQ(window[i], (tracker::turned_pixel<bytes>(p, pixels, from, i % window_size,
                                                             i / window_size)))
              << side << ' ' << angle << ' ' << middle << ' ' << i;
      }
}

TEST(TurnedWindows, AreTheSameByVectors) {
  compare<1>({});
  compare<2>(packed_luma(2, 1));
  compare<3>(packed_rgb(3, 0, 1, 2));
  compare<4>(packed_rgb(4, 2, 1, 0));
}

}  // namespace
}  // namespace xcorr
