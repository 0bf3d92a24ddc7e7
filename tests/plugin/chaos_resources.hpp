// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the process holds between rounds of the test `chaos`, when there is no element: memory, open
// descriptors, threads.
#pragma once

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <vector>

#include <malloc.h>

#include "../../bench/pipeline/memory.hpp"

class ChaosResources {
 public:
  /// Of that GPU besides; -1: of none.
  explicit ChaosResources(int gpu) : memory_(gpu) {
    mallopt(M_ARENA_MAX, 1);  // else what is free lies scattered over those of many threads
  }

  void sample() {
    malloc_trim(0);  // what remains is in use
    memory_.sample();
    descriptors_.push_back(entries_of("/proc/self/fd"));
    threads_.push_back(entries_of("/proc/self/task"));
  }

  /// The latest sample.
  void print() const {
    std::printf("%.1f MiB of the host, %.1f MiB of the GPU, %ld descriptors, %ld threads\n",
                memory_.host().last_mib, memory_.device().last_mib, descriptors_.back(),
                threads_.back());
    std::fflush(stdout);
  }

  /// Whether the run, whose start is left out, ends with more than it began with. Sanitizers keep
  /// memory that is freed: with them it does not count.
  bool grew(bool memory_counts) const {
    const double host = memory_.host().rise_mib, gpu = memory_.device().rise_mib;
    std::printf("rise: %.1f MiB of the host, %.1f MiB of the GPU, %ld descriptors, %ld threads\n",
                host, gpu, rise_of(descriptors_), rise_of(threads_));
    return (memory_counts && std::max(host, gpu) > max_rise_mib) || rise_of(descriptors_) > 0 ||
           rise_of(threads_) > idle_threads;
  }

 private:
  static constexpr double max_rise_mib = 8;  // images of all sizes leave holes
  static constexpr long idle_threads = 8;    // that GLib's pools keep

  static long entries_of(const char* folder) {
    return static_cast<long>(std::distance(std::filesystem::directory_iterator(folder), {}));
  }

  /// By how much the least number of the second half is above that of the first, without the start,
  /// where pools fill: threads that are just ending may be counted, but not always.
  static long rise_of(const std::vector<long>& samples) {
    const auto start = samples.begin() + static_cast<long>(samples.size() / 10);
    const auto middle = samples.begin() + static_cast<long>(samples.size() / 2);
    if (middle == start) return 0;
    return *std::min_element(middle, samples.end()) - *std::min_element(start, middle);
  }

  bench::MemoryWatch memory_;
  std::vector<long> descriptors_, threads_;
};
