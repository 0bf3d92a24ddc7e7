// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The way up for frames in ordinary host memory. A GPU reads pinned memory only; by itself the
// driver copies such a frame to some of its own, by one thread, and sends it when all of that is
// done. Here several threads copy it, and what they have done goes up meanwhile, band by band.
#pragma once

#include "device/runtime.hpp"

namespace xcorr {

class Staging {
 public:
  Staging() = default;
  Staging(Staging&& other) noexcept { *this = std::move(other); }
  Staging& operator=(Staging&& other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(pinned_, other.pinned_);
    std::swap(sent_, other.sent_);
    return *this;
  }
  ~Staging() {
    if (sent_) runtime_->destroy_event(sent_);
  }

  /// Enqueues a copy from ordinary host memory, which has been read when it returns. Allocates at
  /// first and for larger copies.
  Status upload(Backend backend, const Copy& copy, Stream stream);

 private:
  Status provide(Backend backend, std::size_t bytes);

  const Runtime* runtime_ = nullptr;
  Block pinned_;
  void* sent_ = nullptr;  ///< an event: nothing of `pinned_` is read any more
};

}  // namespace xcorr
