// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Targets that pass each other keep their ids.
#include <cmath>
#include <random>
#include <utility>

#include "session.hpp"

namespace xcorr::follow {
namespace {

/// Two targets on straight paths. While they are closer than half a template there is only the
/// better peak, as after non-maximum suppression. If that takes long, the other is lost, and three
/// detections are needed to find it again.
void expect_no_swap(Point a, Point a_speed, Point b, Point b_speed, double jitter_size) {
  Session run(2);
  std::mt19937 random(5);
  std::uniform_real_distribution<double> jitter(-jitter_size, jitter_size);
  const auto at = [&](Point start, Point speed, int i, double score) {
    return peak(start.x + speed.x * i + jitter(random), start.y + speed.y * i + jitter(random),
                score);
  };
  int hidden_for = 0, apart_for = 0;
  for (int i = 0; i < 100; ++i) {
    const Peak of_a = at(a, a_speed, i, 0.98), of_b = at(b, b_speed, i, 0.97);
    const bool hidden =
        std::abs(of_a.x - of_b.x) < size / 2 && std::abs(of_a.y - of_b.y) < size / 2;
    run.see(hidden ? std::vector{of_a} : std::vector{of_a, of_b});
    ASSERT_EQ(run.count(), 2);
    hidden_for = hidden ? hidden_for + 1 : hidden_for;
    apart_for = hidden ? 0 : apart_for + 1;
    if (hidden) {
      EXPECT_NE(run.with_id(1).lost, run.with_id(2).lost);  // whose peak it is cannot be told
      continue;
    }
    const bool may_be_lost = hidden_for >= run.rules.settings.min_frames_for_lost && apart_for < 3;
    for (const auto& [id, peak] : {std::pair{1, of_a}, {2, of_b}}) {
      ASSERT_TRUE(may_be_lost || !run.with_id(id).lost) << "frame " << i;
      if (!run.with_id(id).lost) expect_at(run.with_id(id), peak.x, peak.y);
    }
  }
}

TEST(Crossing, CrossingTargetsKeepTheirIds) {
  expect_no_swap({0, 200}, {6, 0}, {600, 200}, {-6, 0}, 0);        // one through the other
  expect_no_swap({0, 200}, {6, 0}, {300, -100}, {0, 6}, 0);        // at a right angle
  expect_no_swap({0, 200}, {9, 1}, {0, 280}, {9, -1}, 0);          // side by side
  expect_no_swap({0, 200}, {12, 0}, {300, 200}, {6, 0}, 0);        // one overtakes
  expect_no_swap({0, 200.4}, {6.3, 0}, {610, 205}, {-6, 0}, 0.5);  // with jitter
  expect_no_swap({0, 200}, {6, 0}, {300, -100}, {0, 6}, 0.5);
}

}  // namespace
}  // namespace xcorr::follow
