// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How much dynamic shared memory a kernel may have that has arrays of its own besides: both come
// out of what a block gets.
#pragma once

#include <cstddef>

namespace xcorr::cuda {

/// What `Own` takes, which is all that the kernel declares as __shared__: up to where
/// dynamic_shared() begins, aligned to 128 bytes.
template <class Own>
constexpr std::size_t own_shared_bytes() {
  constexpr std::size_t alignment = 128;
  return (sizeof(Own) + alignment - 1) / alignment * alignment;
}

/// What is left beside it without asking for more.
template <class Own>
constexpr std::size_t dynamic_budget() {
  return 48 * 1024 - own_shared_bytes<Own>();
}

}  // namespace xcorr::cuda
