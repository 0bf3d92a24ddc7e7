// SPDX-License-Identifier: LGPL-2.1-or-later
//
// For programs that measure: an error ends them with its text.
#pragma once

#include <errno.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include <xcorr/device.hpp>

[[noreturn]] inline void fail(const xcorr::Status& status) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, status.message().c_str());
  std::exit(1);
}
inline void require(const xcorr::Status& status) {
  if (!status.ok()) fail(status);
}
template <class T>
T require(xcorr::Result<T> result) {
  if (!result.ok()) fail(result.status());
  return std::move(result.value());
}
