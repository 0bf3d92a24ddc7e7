// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where a target's colours are, by a filter's histograms: a red box on gray ground, which is
// somewhere else in another frame.
#include <algorithm>
#include <cmath>

#include <xcorr/tracker.hpp>

#include "support.hpp"

namespace api {
namespace {

using Bytes = Image<std::uint8_t>;

constexpr Size frame_size{320, 240};

Bytes gray_frame() { return random_image<std::uint8_t>(frame_size, 1); }

Bytes frame_with(const Box& red) {
  const Bytes gray = gray_frame();
  Bytes frame({3 * frame_size.width, frame_size.height});
  for (int y = 0; y < frame_size.height; ++y)
    for (int x = 0; x < frame_size.width; ++x)
      for (int k = 0; k < 3; ++k) {
        const bool inside =
            x >= red.x && x < red.x + red.width && y >= red.y && y < red.y + red.height;
        frame.at(3 * x + k, y) = inside ? (k == 0 ? 220 : 30) : gray.at(x, y);
      }
  return frame;
}

MatrixView in_color(const Bytes& frame) {
  MatrixView view = frame.view();
  view.size = frame_size;
  view.pixels = packed_rgb(3, 0, 1, 2);
  return view;
}

class ColorTrackerTest : public testing::TestWithParam<Backend> {};

TEST_P(ColorTrackerTest, SeeksColours) {
  Device device;
  open(GetParam(), device);
  if (IsSkipped()) return;
  auto made = Tracker::create(device);
  ASSERT_TRUE(made.ok()) << made.status().message();
  Tracker& tracker = made.value();
  const Bytes first = frame_with({30, 40, 30, 24}), later = frame_with({250, 170, 30, 24});
  const TargetBox shown{1, {30, 40, 30, 24}};
  ASSERT_TRUE(tracker.train(in_color(first), {&shown, 1}).ok());
  std::vector<TargetBox> places, all;
  for (std::uint64_t turn = 0; turn < 4; ++turn) {
    ASSERT_TRUE(tracker.seek_colors(in_color(later), {&shown, 1}, turn, places).ok());
    EXPECT_LE(places.size(), 4);
    all.insert(all.end(), places.begin(), places.end());
  }
  const auto there = [](const TargetBox& place) {
    return place.by_color && place.target == 1 && std::abs(place.box.x - 250) < 8 &&
           std::abs(place.box.y - 170) < 8;
  };
  EXPECT_TRUE(std::ranges::any_of(all, there));

  const Bytes gray = gray_frame();
  ASSERT_TRUE(tracker.seek_colors(gray.view(), {&shown, 1}, 0, places).ok());
  EXPECT_TRUE(places.empty());
  const TargetBox unknown{5, shown.box};
  EXPECT_EQ(tracker.seek_colors(in_color(later), {&unknown, 1}, 0, places).code(),
            Code::invalid_argument);
}

ON_EACH_BACKEND(ColorTrackerTest);

}  // namespace
}  // namespace api
