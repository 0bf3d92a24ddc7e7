// SPDX-License-Identifier: LGPL-2.1-or-later
//
// kernels/cuda/common/async_copy.cuh on the CPU. Copied data reach their destination only when the
// thread waits for them; until then the destination holds garbage.
#pragma once

#include <cstdint>
#include <cstring>

#include "execution.hpp"

namespace simt {

/// Adds it to the running thread's open group.
void remember_copy(void* to, const std::byte* bytes, std::size_t count);
void close_copies();
/// Does the copies of all closed groups but the last `pending`.
void finish_copies(int pending);

}  // namespace simt

namespace xcorr::cuda {

template <int bytes>
void copy_async(void* shared, const void* global, int valid,
                simt::Where where = simt::Where::current()) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16);
  const auto misaligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % bytes; };
  if (misaligned(shared) || (valid && misaligned(global)))
    simt::report(where, "copy_async: %p to %p is not aligned to %d bytes", global, shared, bytes);
  if (valid < 0 || valid > bytes) simt::report(where, "copy_async: %d of %d bytes", valid, bytes);
  std::byte data[bytes] = {};
  if (valid) std::memcpy(data, global, static_cast<std::size_t>(valid));
  std::memset(shared, 0xc5, bytes);
  simt::remember_copy(shared, data, bytes);
}

inline void commit_copies() { simt::close_copies(); }

template <int pending>
void wait_copies() {
  simt::finish_copies(pending);
}

}  // namespace xcorr::cuda
