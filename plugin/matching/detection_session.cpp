// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/detection_session.h"

#include <algorithm>
#include <utility>

namespace cudaxcorr {
namespace {

/// What others are detected as is not followed.
constexpr std::size_t most_labels = 1024;

/// Boxes of fewer pixels show nothing that a filter could learn.
constexpr double least_side = 4;

bool can_be_followed(const xcorr::Box& box, xcorr::Size frame) {
  return box.width >= least_side && box.height >= least_side && box.x < frame.width &&
         box.y < frame.height && box.x + box.width > 0 && box.y + box.height > 0 &&
         (box.width <= frame.width || box.height <= frame.height) &&
         std::max(box.width, box.height) <= xcorr::most_box_side;
}

}  // namespace

xcorr::Status DetectionSession::configure(xcorr::Size frame, const SearchSettings& asked) {
  if (!filters_) {
    auto made = xcorr::Tracker::create(device_);
    if (!made.ok()) return made.status();
    filters_ = std::move(made.value());
  }
  xcorr::TrackSettings tracking = asked.tracking;
  tracking.enabled = true;
  tracking.most_filters = filters_->most_targets(asked.match.budget);
  xcorr::MatchSettings match = asked.match;
  match.max_peaks = asked.max_targets;
  follower_.configure(tracking, match, {0, 0, frame.width, frame.height},
                      std::vector<double>(labels_->size()));
  return {};
}

std::optional<std::uint32_t> DetectionSession::kind_of(const std::string& label) {
  const LoadedImages& known = labels_->added;
  const auto at = std::ranges::find(known, label, [](const SharedImage& i) { return i->label; });
  if (at != known.end()) return static_cast<std::uint32_t>(at - known.begin());
  if (known.size() == most_labels) return std::nullopt;
  auto more = std::make_shared<TemplateSet>(*labels_);
  more->added.push_back(std::make_shared<const LoadedImage>(LoadedImage{0, "", label, Sample()}));
  std::vector<std::optional<std::size_t>> origins(more->size());
  for (std::size_t i = 0; i < known.size(); ++i) origins[i] = i;
  follower_.replace_templates(origins);
  labels_ = std::move(more);
  return static_cast<std::uint32_t>(labels_->size() - 1);
}

std::vector<xcorr::Peak> DetectionSession::peaks_of(xcorr::Size frame,
                                                    const std::vector<DetectedBox>& detected) {
  std::vector<xcorr::Peak> peaks;
  for (const DetectedBox& one : detected)
    if (can_be_followed(one.box, frame))
      if (const auto kind = kind_of(one.label))
        peaks.push_back(xcorr::peak_of_detection(*kind, one.box, one.confidence));
  return peaks;
}

xcorr::Status DetectionSession::begin(const xcorr::MatrixView& frame, std::uint64_t number,
                                      const std::vector<DetectedBox>& detected) {
  number_ = number;
  peaks_ = peaks_of(frame.size, detected);
  places_ = follower_.places_for_filters(number, peaks_);
  return filters_->enqueue(frame, places_);
}

xcorr::Status DetectionSession::finish(std::vector<xcorr::Target>& targets) {
  std::vector<xcorr::FilterDetection> found;
  if (auto status = filters_->collect(found); !status.ok()) return status;
  xcorr::Follower before = follower_;
  follower_.update(number_, peaks_, places_, found);
  if (auto status = filters_->enqueue_training(follower_.training_samples()); !status.ok()) {
    follower_ = std::move(before);
    return status;
  }
  filters_->keep_only(follower_.ids());
  targets = follower_.targets();
  return {};
}

}  // namespace cudaxcorr
