// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/label_events.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "matching/capture.h"

namespace cudaxcorr {
namespace {

/// What of the frame a target covers. Null where that is flat, or the frame cannot be read.
Sample picture_of(const xcorr::Peak& peak, GstBuffer* buffer, GstCaps* caps) {
  GstVideoInfo info;
  if (!gst_video_info_from_caps(&info, caps)) return nullptr;
  const int x = std::max(0, static_cast<int>(std::lround(peak.x))),
            y = std::max(0, static_cast<int>(std::lround(peak.y)));
  const Sample frame = take_sample(gst_sample_new(buffer, caps, nullptr, nullptr));
  Fault unused;
  return capture(
      frame.get(),
      {x, y, std::min(peak.width, info.width - x), std::min(peak.height, info.height - y)}, false,
      unused);
}

}  // namespace

void LabelEvents::take_labels(const std::shared_ptr<const TemplateSet>& template_set) {
  if (template_set == template_set_) return;
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < template_set->size(); ++i) labels.push_back((*template_set)[i].label);
  presence_.set_labels(labels);
  template_set_ = template_set;
}

std::vector<LabelEvent> LabelEvents::update(const xcorr::FrameTime& time, GstBuffer* buffer,
                                            GstCaps* caps,
                                            const std::shared_ptr<const TemplateSet>& template_set,
                                            std::span<const xcorr::Target> targets) {
  take_labels(template_set);
  presence_.update(time, targets);
  for (const xcorr::Target& target : presence_.newcomers())
    samples_[(*template_set)[target.peak.template_index].label] =
        picture_of(target.peak, buffer, caps);
  std::vector<LabelEvent> events;
  for (const xcorr::PresenceEvent& event : presence_.take_events()) {
    const auto sample = samples_.find(event.label);
    events.push_back({event, sample == samples_.end() ? nullptr : sample->second});
    if (event.change == xcorr::PresenceChange::gone) samples_.erase(event.label);
  }
  return events;
}

}  // namespace cudaxcorr
