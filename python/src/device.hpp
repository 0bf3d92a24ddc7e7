// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include <xcorr/device.hpp>

namespace xcorr::python {

/// Of CUDA's number of a stream, as its Python interfaces have it.
inline Stream stream_of(std::uintptr_t handle) { return {reinterpret_cast<void*>(handle)}; }

/// Devices, and the limit of threads.
void bind_device(nanobind::module_& module);

}  // namespace xcorr::python
