// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the host says of windows that the device looks at.
#pragma once

#include "device/runtime.hpp"
#include "stages/tracker/filter_update.hpp"
#include "stages/tracker/window.hpp"

namespace xcorr::tracker {

/// Of some windows, one after the other in a block of memory.
struct Records {
  Look* looks = nullptr;
  Cropping* croppings = nullptr;
  TrainingSample* training_samples = nullptr;

  static constexpr std::size_t bytes(std::size_t windows) {
    return windows * (sizeof(Look) + sizeof(Cropping) + sizeof(TrainingSample));
  }
  Records() = default;
  Records(const Block& block, std::size_t windows) : looks(block.as<Look>()) {
    static_assert(alignof(Look) >= alignof(Cropping) &&
                  alignof(Cropping) >= alignof(TrainingSample));
    croppings = reinterpret_cast<Cropping*>(looks + windows);
    training_samples = reinterpret_cast<TrainingSample*>(croppings + windows);
  }
};

/// Records that the host writes, and their copy in the device's memory, which one transfer brings.
class WindowRecords {
 public:
  Records host, device;

  /// For so many windows from now on. What was written is lost.
  Status provide(Backend backend, std::size_t windows) {
    if (Status s = on_host_.provide(backend, Records::bytes(windows), Memory::host); !s.ok())
      return s;
    if (Status s = on_device_.provide(backend, Records::bytes(windows)); !s.ok()) return s;
    windows_ = windows;
    host = {on_host_, windows};
    device = {on_device_, windows};
    return {};
  }
  Status upload(Backend backend, Stream stream) const {
    const Copy copy = bytes_copy(on_device_.data(), on_host_.data(), Records::bytes(windows_));
    return runtime(backend).copy(copy, Memory::host, Memory::device, stream);
  }

  std::size_t bytes() const { return on_host_.bytes() + on_device_.bytes(); }

 private:
  Block on_host_, on_device_;
  std::size_t windows_ = 0;
};

}  // namespace xcorr::tracker
