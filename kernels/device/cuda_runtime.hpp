// SPDX-License-Identifier: LGPL-2.1-or-later
//
// CUDA's memory, streams and devices; cuda_absent.cpp defines them in a build without CUDA.
#pragma once

#include "device/runtime.hpp"

namespace xcorr::cuda {

const Runtime& runtime();
/// How many devices there are, at least one.
Result<int> count_devices();
/// The ordinal is that of a device.
Result<Device> open_device(int ordinal);
Status make_current(const Device& device);
/// Makes the device's primary context current until pop_current(), which must follow.
Status push_current(const Device& device);
void pop_current();

}  // namespace xcorr::cuda
