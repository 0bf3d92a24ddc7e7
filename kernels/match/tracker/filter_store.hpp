// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The filters of all targets in the device's memory, by number.
#pragma once

#include "device/runtime.hpp"
#include "stages/answer.hpp"

namespace xcorr {

class FilterStore {
 public:
  static Result<FilterStore> make(const Device& device);

  /// Memory for the filters below `count`. An error changes none.
  Status provide(int count);
  /// Memory for asking filters about so many windows at once.
  Status provide_asking(int windows);
  /// Sets what filter `number` shall be for, before it is taught.
  Status set(int number, const tracker::FilterShape& shape);

  /// Enqueue what teaches filters, and what asks them; all in the device's memory, `lessons` and
  /// `looks` with the windows of `spectra`.
  Status teach(const float* spectra, const tracker::Lesson* lessons, int count);
  Status ask(const float* spectra, const tracker::Look* looks, int count, tracker::Answer* answers);

 private:
  Device device_;
  const Variant<stage::Learn>* learn_ = nullptr;
  const Variant<stage::Answer>* answer_ = nullptr;
  int count_ = 0;
  Block shapes_, means_, filters_, workspace_;
};

}  // namespace xcorr
