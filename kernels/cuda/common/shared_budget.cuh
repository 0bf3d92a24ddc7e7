// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How much dynamic shared memory a kernel may have that has arrays of its own besides: both come
// out of what a block gets without asking for more.
#pragma once

#include <cstddef>

namespace xcorr::cuda {

/// Beside `Own`, which is all that the kernel declares as __shared__. dynamic_shared() is aligned
/// to 128 bytes.
template <class Own>
constexpr std::size_t dynamic_budget() {
  constexpr std::size_t alignment = 128;
  return 48 * 1024 - (sizeof(Own) + alignment - 1) / alignment * alignment;
}

}  // namespace xcorr::cuda
