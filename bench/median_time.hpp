// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How long a turn takes.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

/// Milliseconds, the median of turns until the time is up.
template <class Turn>
double median_time(double seconds, Turn turn) {
  using Clock = std::chrono::steady_clock;
  turn();  // warm-up
  std::vector<double> times;
  const auto begin = Clock::now();
  do {
    const auto start = Clock::now();
    turn();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  } while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds);
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}
