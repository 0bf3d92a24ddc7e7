// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The bench's result for one variant with one problem, and how it is printed.
#pragma once

#include <vector>

#include "checkcorr.hpp"
#include "timing.hpp"

namespace checkcorr {

struct Measurement {
  const Case& test;
  const xcorr::Family::Entry& entry;
  const xcorr::Device& device;
  const char* step;  ///< `kernel`, `run`, `match`, or one of `steps`
  Timing timing;
  double products;  ///< that a launch adds up; 0: other stages than correlate, other steps
  double peak;      ///< the device's multiply-adds a second; 0: not known
};

/// Prints measurements in a format, one after the other.
class Report {
 public:
  /// Prints a description of the devices first; in CSV as lines that begin with '#'.
  Report(Output output, const std::vector<std::string>& devices);
  ~Report();
  Report(const Report&) = delete;

  void add(const Measurement& m);

 private:
  Output output_;
  bool first_ = true;
};

}  // namespace checkcorr
