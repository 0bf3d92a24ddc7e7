// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Follows from frame to frame what a detector finds, with `track-detections`: a filter for each
// target, and detections where there are any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <xcorr/follower.hpp>
#include <xcorr/tracker.hpp>

#include "matching/search_settings.h"
#include "matching/templates.h"

namespace cudaxcorr {

struct DetectedBox {
  std::string label;  ///< what was detected
  xcorr::Box box;
  double confidence;  ///< 0 to 1
};

class DetectionSession {
 public:
  explicit DetectionSession(xcorr::Device device) : device_(std::move(device)) {}

  /// All tracks end, and what filters have learnt.
  void end() {
    follower_.end();
    filters_.reset();
  }
  /// The stream has a gap before the next frame.
  void interrupt() { follower_.interrupt(); }

  /// Before frames of that size.
  xcorr::Status configure(xcorr::Size frame, const SearchSettings& asked);

  /// Takes a frame of u8 and what was detected in it; nothing: the detector did not run. Boxes that
  /// no filter can have are left out. The frame is needed until release() after finish().
  xcorr::Status begin(const xcorr::MatrixView& frame, std::uint64_t number,
                      const std::vector<DetectedBox>& detected);
  /// Waits for the targets in it. After an error targets are as before.
  xcorr::Status finish(std::vector<xcorr::Target>& targets);
  xcorr::Status release() { return filters_ ? filters_->wait() : xcorr::Status(); }

  /// The labels so far, as a template set has them: the indices of targets are its.
  const std::shared_ptr<const TemplateSet>& labels() const { return labels_; }

  /// An estimate of how long a frame's filters take.
  double seconds() const { return filters_ ? filters_->seconds(follower_.ids().size()) : 0; }

  /// How many targets the budget permits, once there are so many.
  std::optional<int> full() const { return follower_.full(); }

  /// What has become of targets since the last call.
  std::vector<xcorr::TargetEvent> take_events() { return follower_.take_events(); }

 private:
  std::vector<xcorr::Peak> peaks_of(xcorr::Size frame, const std::vector<DetectedBox>& detected);
  std::optional<std::uint32_t> kind_of(const std::string& label);

  xcorr::Device device_;
  std::optional<xcorr::Tracker> filters_;
  xcorr::Follower follower_;
  std::shared_ptr<const TemplateSet> labels_ = std::make_shared<TemplateSet>();
  std::uint64_t number_ = 0;  ///< of the frame in flight
  std::vector<xcorr::Peak> peaks_;
  std::vector<xcorr::TargetBox> places_;
};

}  // namespace cudaxcorr
