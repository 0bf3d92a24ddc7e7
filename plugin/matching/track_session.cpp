// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/track_session.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cudaxcorr {
namespace {

double sum_of_squares(const LumaImage& image) {
  double sum = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(image.size.area()); ++i)
    if (image.counts(i)) sum += static_cast<double>(image[i]) * image[i];
  return sum;
}

/// What a window of zeros scores: the value that means no match, for each method.
std::vector<double> zero_window_scores(const std::vector<LumaImage>& images, xcorr::Method method) {
  const xcorr::MethodInfo& info = xcorr::info(method);
  std::vector<double> scores(images.size(), info.minimum ? 1 : 0);
  if (info.minimum && !info.normed)
    std::transform(images.begin(), images.end(), scores.begin(), sum_of_squares);
  return scores;
}

}  // namespace

void TrackSession::keep_tracks_of(const TrackSession& other) {
  follower_ = other.follower_;
  followed_ = other.followed_;
  follower_.end_of_filters();
}

void TrackSession::set_templates(const LoadedTemplates& templates) {
  templates_ = templates;
  windows_.set_templates(templates.images, templates.live);
}

xcorr::Status TrackSession::provide_filters() {
  const xcorr::TrackerSettings wanted = xcorr::filters_for(asked_.match);
  if (filters_ && wanted == of_filters_) return {};
  follower_.end_of_filters();  // which have learnt something else
  auto filters = xcorr::Tracker::create(device_, wanted);
  if (!filters.ok()) return filters.status();
  filters_ = std::make_shared<xcorr::Tracker>(std::move(filters.value()));
  of_filters_ = wanted;
  return {};
}

xcorr::Status TrackSession::configure(xcorr::Size frame, const xcorr::MatchSettings& match,
                                      const SearchSettings& asked) {
  asked_ = asked;
  if (asked.tracking.by_filter())
    if (auto status = provide_filters(); !status.ok()) return status;
  if (asked.tracking.enabled)
    if (auto status = windows_.prepare(frame, match, asked.tracking); !status.ok()) return status;
  if (templates_.images != followed_) {
    follower_.replace_templates(origins_of(*templates_.images, *followed_), templates_.things);
    followed_ = templates_.images;
  }
  xcorr::TrackSettings tracking = asked.tracking;
  if (tracking.by_filter()) tracking.most_filters = filters_->most_targets(asked.match.budget);
  follower_.configure(tracking, asked.match,
                      xcorr::searched_region(frame, asked.match.search_region),
                      zero_window_scores(*templates_.images, asked.match.method));
  return {};
}

double TrackSession::seconds() const {
  return filters_ ? filters_->seconds(follower_.ids().size()) : 0;
}

xcorr::Status TrackSession::begin(FrameSearch& search, const xcorr::MatrixView& frame,
                                  std::uint64_t number) {
  number_ = number;
  frame_ = frame;
  places_.reset();
  const bool whole = follower_.whole_frame_due();
  if (whole)
    if (auto status = search.begin(frame); !status.ok()) return status;
  if (auto status = windows_.enqueue(frame, follower_.expectations(number)); !status.ok())
    return status;
  if (!asked_.tracking.by_filter() || whole || !follower_.sought().empty()) return {};
  places_ = follower_.places_for_filters(number, {});
  return filters_->enqueue(frame, *places_);
}

/// Looks where targets may be by what has been found.
xcorr::Status TrackSession::look(const std::vector<xcorr::Peak>& peaks) {
  std::vector<xcorr::TargetBox> by_color;
  if (const auto sought = follower_.sought(); !sought.empty())
    if (auto status = filters_->seek_colors(frame_, sought, number_, by_color); !status.ok())
      return status;
  places_ = follower_.places_for_filters(number_, peaks, by_color);
  return filters_->enqueue(frame_, *places_);
}

xcorr::Status TrackSession::finish(FrameSearch& search, std::vector<xcorr::Target>& targets,
                                   std::string& kernel) {
  std::vector<xcorr::Peak> peaks;
  const bool whole = follower_.whole_frame_due();
  if (whole)
    if (auto status = search.finish(peaks); !status.ok()) return status;
  if (auto status = windows_.collect(peaks); !status.ok()) return status;

  const bool by_filter = asked_.tracking.by_filter();
  std::vector<xcorr::FilterDetection> filter_detections;
  if (by_filter) {
    if (!places_)
      if (auto status = look(peaks); !status.ok()) return status;
    if (auto status = filters_->collect(filter_detections); !status.ok()) return status;
  }
  const auto places =
      std::exchange(places_, std::nullopt).value_or(std::vector<xcorr::TargetBox>());
  const bool learns = by_filter || templates_.are_live();
  auto before = learns ? std::optional(follower_) : std::nullopt;
  follower_.update(number_, peaks, places, filter_detections);
  if (auto status = learns ? learn() : xcorr::Status(); !status.ok()) {
    follower_ = std::move(*before);
    return status;
  }
  targets = follower_.targets();
  if (whole)
    kernel = search.kernel();
  else if (windows_.any())
    kernel = windows_.kernel();
  return {};
}

xcorr::Status TrackSession::learn() {
  if (asked_.tracking.by_filter()) return train_filters();
  if (auto status = check_returns(); !status.ok()) return status;
  return update_templates();
}

/// How close what was seen there is to the image that the template started from; nothing where
/// part of it is beyond the frame. At a pose that is cut out, and frame and place become the
/// patch's.
xcorr::Result<std::optional<double>> TrackSession::similarity_of_image(xcorr::TemplatePlace& place,
                                                                       xcorr::MatrixView& frame) {
  if (asked_.match.poses.any()) {
    xcorr::LiveTemplate& live = *templates_.live[place.template_index];
    const auto patch = live.cut(frame, place.seen.pose);
    // Its box may reach beyond the frame where its mask does not.
    if (patch.status().code() == xcorr::Code::invalid_argument) return std::optional<double>();
    if (!patch.ok()) return patch.status();
    if (auto status = live.wait(); !status.ok()) return status;
    frame = patch.value();
    place.x = place.y = 0;
  }
  const auto similarity = windows_.similarity_of_image(frame, place);
  if (!similarity.ok()) return similarity.status();
  return std::optional(similarity.value());
}

/// A template that has changed may find what it has changed to, and not what the target was.
xcorr::Status TrackSession::check_returns() {
  constexpr double least_share = 0.85;
  for (const xcorr::TemplatePlace& seen : follower_.found_again()) {
    if (templates_.live[seen.template_index]->version() == 0) continue;
    xcorr::TemplatePlace place = seen;
    xcorr::MatrixView frame = frame_;
    const auto similarity = similarity_of_image(place, frame);
    if (!similarity.ok()) return similarity.status();
    if (similarity.value() && *similarity.value() < least_share * asked_.tracking.update_score)
      follower_.refuse(seen);
  }
  return {};
}

/// A template takes up only what its image still resembles, so that it cannot drift away for
/// good.
xcorr::Status TrackSession::update_templates() {
  const std::vector<xcorr::TemplatePlace> updates = follower_.template_updates();
  for (xcorr::TemplatePlace update : updates) {
    xcorr::MatrixView frame = frame_;
    const auto similarity = similarity_of_image(update, frame);
    if (!similarity.ok()) return similarity.status();
    if (!similarity.value() || *similarity.value() < asked_.tracking.update_score) continue;
    if (auto status = templates_.live[update.template_index]->blend(
            frame, static_cast<int>(std::lround(update.x)), static_cast<int>(std::lround(update.y)),
            asked_.tracking.update);
        !status.ok())
      return status;
  }
  if (frame_.memory == xcorr::Memory::host) return {};  // which has been read
  for (const xcorr::TemplatePlace& update : updates)
    if (auto status = templates_.live[update.template_index]->wait(); !status.ok()) return status;
  return {};
}

xcorr::Status TrackSession::train_filters() {
  auto status = filters_->enqueue_training(follower_.training_samples());
  // Else the frame is analysed again, with the targets that there were before.
  if (status.ok()) filters_->keep_only(follower_.ids());
  return status;
}

}  // namespace cudaxcorr
