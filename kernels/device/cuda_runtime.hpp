// SPDX-License-Identifier: LGPL-2.1-or-later
//
// CUDA's memory, streams and devices; of a build without CUDA, absent.cpp has them.
#pragma once

#include "device/runtime.hpp"

namespace xcorr::cuda {

const Runtime& runtime();
Result<Device> open_device(int ordinal);
Status make_current(const Device& device);

}  // namespace xcorr::cuda
