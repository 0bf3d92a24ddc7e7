// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How long a turn takes.
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>
#include <vector>

inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

/// Milliseconds: on the clock, and of processors, of all threads of the program together. Other
/// programs add to the first.
struct TurnTimes {
  double clock, processors;
};

/// Medians of turns until the time is up.
template <class Turn>
TurnTimes median_times(double seconds, Turn turn) {
  using Clock = std::chrono::steady_clock;
  turn();  // warm-up
  std::vector<double> clock, processors;
  const auto begin = Clock::now();
  do {
    const std::clock_t used = std::clock();
    const auto start = Clock::now();
    turn();
    clock.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    processors.push_back(1e3 * static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC);
  } while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds);
  return {median(std::move(clock)), median(std::move(processors))};
}

/// That on the clock.
template <class Turn>
double median_time(double seconds, Turn turn) {
  return median_times(seconds, turn).clock;
}
