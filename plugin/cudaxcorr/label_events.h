// SPDX-License-Identifier: LGPL-2.1-or-later
//
// With `events`: which labels have appeared and which are gone, with a picture of each as it
// appeared. Of the streaming thread.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gst/gst.h>

#include <xcorr/presence.hpp>

#include "common/sample.h"
#include "matching/templates.h"

namespace cudaxcorr {

struct LabelEvent {
  xcorr::PresenceEvent event;
  Sample sample;  ///< the place in the first frame that showed it; null where that cannot be read
};

class LabelEvents {
 public:
  void configure(const xcorr::PresenceSettings& settings) { presence_.configure(settings); }

  /// For each frame in order, with the template set that it was searched for.
  std::vector<LabelEvent> update(const xcorr::FrameTime& time, GstBuffer* buffer, GstCaps* caps,
                                 const std::shared_ptr<const TemplateSet>& template_set,
                                 std::span<const xcorr::Target> targets);
  /// Or, if it was not analysed.
  void skip() { presence_.skip(); }
  /// The stream has a gap before the next frame.
  void interrupt() { presence_.interrupt(); }

 private:
  void take_labels(const std::shared_ptr<const TemplateSet>& template_set);

  xcorr::Presence presence_;
  std::shared_ptr<const TemplateSet> template_set_;  ///< whose labels are known
  std::map<std::string, Sample> samples_;            ///< by label
};

}  // namespace cudaxcorr
