// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The errors of open_device() where there is no device.
#include <cstdlib>
#include <string>

#include "support.hpp"

namespace api {
namespace {

TEST(DeviceTest, NoSuchDevice) {
  const auto device = open_device(Backend::cuda, 1000);
  ASSERT_FALSE(device.ok());
  EXPECT_FALSE(device.status().message().empty());
}

/// open_device() of tests/simt with a driver that supports that version of CUDA; 0: none is there.
std::string refusal(const char* driver) {
  setenv("XCORR_SIMT_DRIVER", driver, 1);
  const auto device = open_device(Backend::cuda);
  unsetenv("XCORR_SIMT_DRIVER");
  EXPECT_EQ(device.status().code(), Code::not_found);
  return device.status().message();
}

bool has_made_up_driver() {
  const auto device = open_device(Backend::cuda);
  return device.ok() && device.value().name == "GPU on a CPU";
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
