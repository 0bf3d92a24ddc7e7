// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The errors of open_device() where there is no device.
#include <cstdlib>
#include <string>
#include <thread>

#include <tbb/global_control.h>

#include "support.hpp"

namespace api {
namespace {

bool has_made_up_driver() {
  const auto device = open_device(Backend::cuda);
  return device.ok() && device.value().name == "GPU on a CPU";
}

TEST(DeviceTest, NoSuchDevice) {
  const auto device = open_device(Backend::cuda, 1000);
  ASSERT_FALSE(device.ok());
  EXPECT_FALSE(device.status().message().empty());
}

TEST(DeviceTest, NothingHasToBeCurrentOnTheCpu) {
  const CurrentDevice current(open_device(Backend::cpu).value());
  EXPECT_TRUE(current.status().ok());
}

/// Also in a thread for which none was current.
TEST(DeviceTest, WhatWasCurrentIsAgain) {
  const auto gpus = open_devices(Backend::cuda);
  if (!gpus.ok()) GTEST_SKIP() << gpus.status().message();
  if (has_made_up_driver()) GTEST_SKIP() << "the driver is made up, and has no contexts";
  const Device &first = gpus.value().front(), &second = gpus.value().back();
  const auto is_here = runtime(Backend::cuda).is_here;
  const std::byte value{};
  ASSERT_TRUE(make_current(first).ok());
  const Block here = upload(first, &value, 1);
  const auto work = [&] {
    const CurrentDevice current(second);
    EXPECT_TRUE(current.status().ok()) << current.status().message();
    const Block there = upload(second, &value, 1);
    EXPECT_TRUE(is_here(there.data()));
    EXPECT_EQ(is_here(here.data()), gpus.value().size() == 1);
  };
  work();
  EXPECT_TRUE(is_here(here.data()));
  std::thread([&] {
    work();
    EXPECT_TRUE(is_here(here.data())) << "the first device is that of threads that chose none";
  }).join();
}

/// The limit is TBB's while it lasts, and matches under it are the same.
TEST(DeviceTest, LimitOfThreads) {
  const auto allowed = [] {
    return static_cast<int>(
        tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
  };
  const int all = allowed();
  EXPECT_EQ(max_threads(), 0);
  for (const int count : {1, 3, 2}) {
    ASSERT_TRUE(set_max_threads(count).ok());
    EXPECT_EQ(max_threads(), count);
    EXPECT_EQ(allowed(), count);
  }
  EXPECT_EQ(set_max_threads(-1).code(), Code::invalid_argument);
  EXPECT_EQ(allowed(), 2);
  ASSERT_TRUE(set_max_threads(0).ok());
  EXPECT_EQ(max_threads(), 0);
  EXPECT_EQ(allowed(), all);
}

/// open_device() of tests/simt with a driver that supports that version of CUDA; 0: none is there.
std::string refusal(const char* driver) {
  setenv("XCORR_SIMT_DRIVER", driver, 1);
  const auto device = open_device(Backend::cuda);
  unsetenv("XCORR_SIMT_DRIVER");
  EXPECT_EQ(device.status().code(), Code::not_found);
  return device.status().message();
}

TEST(DeviceTest, NoDriver) {
  if (!has_made_up_driver()) GTEST_SKIP() << "the driver is a real one, or missing";
  EXPECT_EQ(refusal("0"), "there is no NVIDIA driver on this machine");
}

TEST(DeviceTest, DriverTooOld) {
  if (!has_made_up_driver()) GTEST_SKIP() << "the driver is a real one, or missing";
  EXPECT_EQ(refusal("11080"),
            "the NVIDIA driver is too old: it supports CUDA 11.8, this build needs CUDA 12.0");
}

}  // namespace
}  // namespace api
