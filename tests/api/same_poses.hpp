// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What two devices find at poses: the same, bit for bit but for the last part of a place, which
// floating point decides.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include <xcorr/match.hpp>

namespace api {

inline void expect_same_poses(const std::vector<xcorr::Peak>& here,
                              const std::vector<xcorr::Peak>& there) {
  EXPECT_FALSE(there.empty());
  ASSERT_EQ(here.size(), there.size());
  for (std::size_t i = 0; i < here.size(); ++i) {
    EXPECT_EQ(here[i].score, there[i].score);
    EXPECT_EQ(here[i].inverted, there[i].inverted);
    EXPECT_NEAR(here[i].pose.center_x, there[i].pose.center_x, 1e-3);
    EXPECT_NEAR(here[i].pose.center_y, there[i].pose.center_y, 1e-3);
    EXPECT_NEAR(here[i].pose.angle, there[i].pose.angle, 1e-2);
    EXPECT_NEAR(here[i].pose.scale, there[i].pose.scale, 1e-4);
  }
}

}  // namespace api
