// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Converts exceptions, which the standard library and TBB throw, to errors as values. No function
// of the library lets an exception pass. Callers with boundaries of their own, such as callbacks
// from C, may use it, too.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>

#include <xcorr/types.hpp>

namespace xcorr {

inline Status status_of(const std::exception& thrown) noexcept {
  const bool out_of_memory = dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr ||
                             dynamic_cast<const std::length_error*>(&thrown) != nullptr;
  // Short enough for a string that allocates nothing.
  if (out_of_memory) return {Code::out_of_memory, "no host memory"};
  return {Code::device_error, std::string("the host: ") + thrown.what()};
}

}  // namespace xcorr
