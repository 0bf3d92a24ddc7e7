// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A pipeline of lanes, from its start to the end of all streams, and what it comes to: rate,
// faults, times added and the CPU's time.
#pragma once

#include <string>
#include <vector>

#include "lane.hpp"

namespace bench {

/// Waits for the end of all streams; an error ends the program with its text. The pipeline is then
/// stopped and freed.
void play(GstElement* pipeline);

struct RunResult {
  int frames = 0, unanalysed = 0, wrong = 0;
  double frames_per_s = 0;       ///< of all lanes together
  double cpu_ms = 0;             ///< of the process, a frame
  std::vector<double> added_ms;  ///< sorted
  std::string kernel;
};

/// `streams` lanes with the same settings.
RunResult run(const Scene& scene, int streams, const LaneSettings& settings);

/// Of sorted values; 0 of none.
double quantile(const std::vector<double>& sorted, double share);

}  // namespace bench
