// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device/speed.hpp"

#include <algorithm>
#include <cstdio>

#include <tbb/info.h>

namespace xcorr {

Speed speed_of(const Device& device, ElementType type) {
  const bool bytes = type == ElementType::u8;
  if (device.backend == Backend::cuda) {
    const double share = std::max(device.multiprocessors, 1) / 132.0;
    return {share * (bytes ? 1e14 : 5e12), share * 2e10, share * 2e11};
  }
  const int limit = max_threads(), cores = std::max(1, tbb::info::default_concurrency());
  const double threads = limit > 0 ? std::min(limit, cores) : cores;
  return {threads * (bytes ? 5e10 : 5e9), threads * (bytes ? 8e7 : 4e7), threads * 2e9};
}

Status check_work(double seconds, const Budget& budget, const std::string& what) {
  if (!(budget.max_work > 0) || seconds <= budget.max_work) return {};
  char text[96];
  std::snprintf(text, sizeof text,
                " would take about %.3g s a frame on this device, more than the %.3g s of max-work",
                seconds, budget.max_work);
  return {Code::over_budget, what + text};
}

}  // namespace xcorr
