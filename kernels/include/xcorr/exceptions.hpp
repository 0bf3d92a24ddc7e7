// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The border between exceptions, which the standard library and TBB throw, and errors as values.
// The library's functions let none pass; callers with borders of their own, such as callbacks for
// C, may use it too.
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
