// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The filters of all targets in the device's memory, by number.
#pragma once

#include "device/runtime.hpp"
#include "match/tracker/channel_maker.hpp"
#include "stages/answer.hpp"

namespace xcorr {

class FilterStore {
 public:
  static Result<FilterStore> make(const Device& device);

  /// Memory for the filters below `count`. An error changes none.
  Status provide(int count);
  /// Memory for teaching filters, or asking them, with so many windows at once.
  Status provide_teaching(int windows);
  Status provide_asking(int windows);
  /// Sets what filter `number` shall be for, before it is taught.
  Status set(int number, const tracker::FilterShape& shape);

  /// Enqueue what teaches filters, and what asks those of the windows' looks. \param lessons  of
  /// the windows, in the device's memory, as are the answers or where the host reads them
  Status teach(const SeenWindows& seen, const tracker::Lesson* lessons);
  Status ask(const SeenWindows& seen, tracker::Answer* answers);

 private:
  Device device_;
  const Variant<stage::Spectra>* spectra_of_ = nullptr;
  const Variant<stage::Learn>* learn_ = nullptr;
  const Variant<stage::Answer>* answer_ = nullptr;
  int count_ = 0;
  Block shapes_, means_, filters_, spectra_, workspace_;
};

}  // namespace xcorr
