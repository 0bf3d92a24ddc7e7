// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <utility>

#include <xcorr/device.hpp>

#include "errors.hpp"

namespace xcorr::python {

/// Of CUDA's number of a stream, as its Python interfaces have it.
inline Stream stream_of(std::uintptr_t handle) { return {reinterpret_cast<void*>(handle)}; }

/// Calls `body` without the GIL and with the device current. CuPy and PyTorch, which work on the
/// one that is current, find theirs again.
template <class Body>
decltype(auto) on_device(const Device& device, const Body& body) {
  const nanobind::gil_scoped_release unlocked;
  const CurrentDevice current(device);
  check(current.status());
  return body();
}

/// What is of a device, which is current when it is destroyed.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(const Device& device) : device_(device) {}
  OnDevice(const OnDevice&) = delete;
  ~OnDevice() {
    const CurrentDevice current(device_);
    value_.reset();
  }

  const Device& device() const { return device_; }
  void set(T value) { value_.emplace(std::move(value)); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  const T& operator*() const { return *value_; }

 private:
  Device device_;
  std::optional<T> value_;
};

/// Devices, and the limit of threads.
void bind_device(nanobind::module_& module);

}  // namespace xcorr::python
