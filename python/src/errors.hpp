// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The library's errors as Python's exceptions, with its text.
#pragma once

#include <utility>

#include <xcorr/types.hpp>

namespace xcorr::python {

/// Throws ValueError for invalid_argument, MemoryError for out_of_memory, else RuntimeError.
void check(const Status& status);

/// The same, for what depends on values of the caller's alone: unsupported ones are ValueErrors.
void check_value(const Status& status);

template <class T>
T take(Result<T> result) {
  check(result.status());
  return std::move(result.value());
}

}  // namespace xcorr::python
