// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The limit of threads: oneTBB's, which holds for a process.
#include <memory>
#include <mutex>

#include <tbb/global_control.h>

#include <xcorr/device.hpp>
#include <xcorr/exceptions.hpp>

namespace xcorr {
namespace {

using Control = tbb::global_control;

struct Limit {
  std::mutex mutex;
  std::unique_ptr<Control> control;
  int count = 0;
};

Limit& limit() {
  static Limit made;
  return made;
}

}  // namespace

Status set_max_threads(int count) try {
  if (count < 0) return {Code::invalid_argument, "the number of threads must not be negative"};
  const std::lock_guard lock(limit().mutex);
  // Of two controls the lower limit holds, so the old one goes first.
  limit().control.reset();
  limit().count = 0;
  if (count > 0)
    limit().control = std::make_unique<Control>(Control::max_allowed_parallelism, count);
  limit().count = count;
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

int max_threads() {
  const std::lock_guard lock(limit().mutex);
  return limit().count;
}

}  // namespace xcorr
