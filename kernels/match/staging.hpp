// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The upload of frames from ordinary host memory. A GPU reads pinned memory only; the driver alone
// would copy such a frame to its own pinned memory with one thread and upload it after that. Here
// several threads copy it, and finished bands are uploaded meanwhile.
#pragma once

#include "device/runtime.hpp"

namespace xcorr {

class Staging {
 public:
  /// Enqueues a copy from ordinary host memory, which has been read when it returns. Allocates on
  /// the first call and for larger copies.
  Status upload(Backend backend, const Copy& copy, Stream stream);

  /// The same, but only to memory that a device reads, which stays until the next call.
  Result<const void*> stage(Backend backend, const Copy& copy);
  /// What reads that, if there is anything, has been enqueued on the stream.
  Status note_read(Stream stream) { return sent_ ? sent_.record(stream) : Status(); }

 private:
  Status provide(Backend backend, std::size_t bytes);

  Block pinned_;
  Event sent_;  ///< `pinned_` is no longer read
};

}  // namespace xcorr
