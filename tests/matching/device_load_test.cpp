// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which GPU the next element takes, of made-up ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "matching/device_load.h"

namespace {

using cudaxcorr::DeviceClaim;

int taken(const DeviceClaim& claim) { return claim.ordinals().front(); }

TEST(DeviceLoadTest, OneAfterTheOther) {
  std::vector<DeviceClaim> claims;
  for (const int expected : {0, 1, 2, 0, 1, 2, 0}) {
    claims.push_back(DeviceClaim::on_least_loaded(std::vector{0, 1, 2}));
    EXPECT_EQ(taken(claims.back()), expected);
  }
}

TEST(DeviceLoadTest, WhatHasEndedDoesNotCount) {
  std::vector<DeviceClaim> claims;
  for (int i = 0; i < 4; ++i) claims.push_back(DeviceClaim::on_least_loaded(std::vector{0, 1}));
  claims.erase(claims.begin() + 1);  // of GPU 1
  EXPECT_EQ(taken(DeviceClaim::on_least_loaded(std::vector{0, 1})), 1);
  EXPECT_EQ(taken(DeviceClaim::on_least_loaded(std::vector{0, 1})), 1) << "it ended at once";
  claims.clear();
  EXPECT_EQ(taken(DeviceClaim::on_least_loaded(std::vector{0, 1})), 0);
}

/// An element that was given its GPU, and one with several.
TEST(DeviceLoadTest, NamedOnesCountToo) {
  const DeviceClaim one({0}), several({0, 2});
  EXPECT_EQ(taken(DeviceClaim::on_least_loaded(std::vector{0, 1, 2})), 1);
  EXPECT_EQ(taken(DeviceClaim::on_least_loaded(std::vector{0, 2})), 2);
}

/// Numbers of GPUs need not begin at 0: others may be too old.
TEST(DeviceLoadTest, OnlyThoseThatThereAre) {
  const DeviceClaim on_five({5});
  EXPECT_EQ(taken(DeviceClaim::on_least_loaded(std::vector{5, 7})), 7);
  EXPECT_EQ(taken(DeviceClaim::on_least_loaded(std::vector{5})), 5);
}

TEST(DeviceLoadTest, MovesWithTheElement) {
  DeviceClaim here({0});
  DeviceClaim there = std::move(here);
  here = DeviceClaim({1});
  EXPECT_EQ(taken(DeviceClaim::on_least_loaded(std::vector{0, 1, 2})), 2);
  there = DeviceClaim();
  EXPECT_EQ(taken(DeviceClaim::on_least_loaded(std::vector{0, 1})), 0);
}

TEST(DeviceLoadTest, StartingAtOnce) {
  std::vector<DeviceClaim> claims(40);
  {
    std::vector<std::jthread> threads;
    for (DeviceClaim& claim : claims)
      threads.emplace_back([&] { claim = DeviceClaim::on_least_loaded(std::vector{0, 1, 2, 3}); });
  }
  for (int gpu = 0; gpu < 4; ++gpu) EXPECT_EQ(std::ranges::count(claims, gpu, taken), 10) << gpu;
}

}  // namespace
