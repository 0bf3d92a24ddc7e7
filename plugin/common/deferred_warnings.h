// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Warnings about requests that were refused: the value of a property, a template. In the state NULL
// nobody would receive them: gst-launch-1.0 sets properties before there is a pipeline, and the bus
// of a stopped pipeline drops everything. Warnings of that time are posted at the start.
#pragma once

#include <vector>

#include "common/fault.h"

namespace cudaxcorr {

/// The warning for a value that a property has not taken.
Fault malformed(GParamSpec* property, const GValue* value, Where where = Where::here());

/// An element's; its object lock guards them.
class DeferredWarnings {
 public:
  /// Posts at once or, in the state NULL, when the element starts.
  void warn(gpointer element, Fault fault);
  /// At the start: posts the warnings of the state NULL.
  void post(gpointer element);

 private:
  std::vector<Fault> kept_;
};

}  // namespace cudaxcorr
