// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether memory grows while a pipeline runs: samples of what the process has in the host's memory
// and what is taken of the GPU's. Growth is what a straight line through the samples rises by, so
// that neither the start nor a single sample decides; the first tenth, in which caches fill, is
// left out. The driver is opened at run time; without one there is no device memory.
#pragma once

#include <memory>
#include <vector>

namespace bench {

class DeviceMemory;

class MemoryWatch {
 public:
  /// Of that GPU; -1: of none.
  explicit MemoryWatch(int ordinal);
  ~MemoryWatch();

  void sample();

  struct Growth {
    double first_mib, last_mib;
    double rise_mib;  ///< of the line, from the first to the last sample
  };
  Growth host() const;
  Growth device() const;

 private:
  std::unique_ptr<DeviceMemory> device_memory_;
  std::vector<double> host_, device_;  ///< MiB
};

/// Of one sample to the next a page may come to stay; nothing that is leaked a frame or a template
/// remains below it in an hour's frames.
constexpr double max_rise_mib = 4;

}  // namespace bench
