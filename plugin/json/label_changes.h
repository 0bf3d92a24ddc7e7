// SPDX-License-Identifier: LGPL-2.1-or-later
//
// With `changes`: which labels come and go from one analysed frame to the next, and the frames that
// show it: the first with a label, and the last.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gst/gst.h>

namespace cudaxcorr {

using HeldFrame = std::unique_ptr<GstBuffer, decltype(&gst_buffer_unref)>;

/// From the analysed frame before to this one.
struct LabelChange {
  /// Sorted, valid UTF-8.
  std::vector<std::string> came, left;
  /// The last frame with what has left. Null where nothing has, or where it went on itself since
  /// something came with it.
  HeldFrame before{nullptr, gst_buffer_unref};
  /// Whether this frame goes on: something came with it, or it is the first, for which sinks wait.
  bool goes_on = false;
};

class LabelChanges {
 public:
  LabelChange take(GstBuffer* buffer);

  /// The frame that shows labels last, when the stream ends or its format changes. Null as
  /// LabelChange::before. The change of the next frame says that all labels have left.
  HeldFrame finish();

 private:
  std::vector<std::string> labels_;    ///< of the analysed frame before
  std::vector<std::string> finished_;  ///< those that the next change has to add
  bool begun_ = false;
  HeldFrame held_{nullptr, gst_buffer_unref};
};

}  // namespace cudaxcorr
