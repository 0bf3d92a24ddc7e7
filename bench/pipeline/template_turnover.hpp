// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Templates come and go while a stream runs: every so many frames one is added and the one added
// before is removed.
#pragma once

#include <gst/gst.h>

#include "scene.hpp"

namespace bench {

class TemplateTurnover {
 public:
  explicit TemplateTurnover(xcorr::Size frame, int side) : scene_(frame, side, 3) {}

  /// Before each frame is given.
  void before_frame(GstElement* element, int frame) {
    if (frame == 0 || frame % interval != 0) return;
    GstSample* patch = scene_.patch();
    guint added = 0;
    gboolean removed = TRUE;
    g_signal_emit_by_name(element, "add-template", patch, "passing", &added);
    if (last_ != 0) g_signal_emit_by_name(element, "remove-template", last_, &removed);
    gst_sample_unref(patch);
    if (added != 0 && removed) ++changes_;
    last_ = added;
  }

  /// How many succeeded.
  int changes() const { return changes_; }
  static constexpr int interval = 100;

 private:
  Scene scene_;
  guint last_ = 0;
  int changes_ = 0;
};

}  // namespace bench
