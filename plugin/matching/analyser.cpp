// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/analyser.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <xcorr/exceptions.hpp>

#include "matching/current_context.h"
#include "matching/frame.h"
#include "matching/image_size.h"

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

/// Whether a template is not too large at every pose.
bool may_fit(xcorr::Size size, xcorr::Size area, const xcorr::PoseRange& poses) {
  const double scale = std::min(poses.scale_min, poses.scale_max);
  const double across = scale * size.width, down = scale * size.height;
  if (poses.angle_start != 0 || poses.angle_extent != 0)
    return std::min(across, down) <= std::min(area.width, area.height);
  return across <= area.width && down <= area.height;
}

/// For a message: at which scale a template is smallest.
std::string at_least_of(const xcorr::PoseRange& poses) {
  std::ostringstream text;
  if (poses.scale_min != 1 || poses.scale_max != 1)
    text << " at a scale of " << std::min(poses.scale_min, poses.scale_max);
  return text.str();
}

std::string files_of(const TemplateSet& template_set) {
  std::string text;
  for (std::size_t i = 0; i < template_set.size(); ++i)
    text += (i ? ", '" : "'") + template_set[i].name() + "'";
  return text;
}

}  // namespace

xcorr::Result<Analyser> Analyser::open(Devices devices, const xcorr::MatchSettings& match,
                                       const PipelineContext& context) {
  const CurrentContext current(devices.first(), context);
  if (!current.status().ok()) return current.status();
  auto matcher = xcorr::MultiMatcher::create(devices.all);
  if (!matcher.ok()) return matcher.status();
  // Any size of frame will tell whether the kernel exists, before the first frame arrives. Whether
  // poses can be searched depends on the templates.
  xcorr::MatchSettings upright = match;
  upright.poses = {};
  if (auto status = matcher.value().prepare(xcorr::ElementType::u8, {1, 1}, upright); !status.ok())
    return status;
  return Analyser(std::move(devices), context, std::move(matcher.value()));
}

Analyser::Analyser(Devices devices, const PipelineContext& context, xcorr::MultiMatcher matcher)
    : devices_(std::move(devices)),
      context_(context),
      windows_(device()),
      images_(std::make_shared<std::vector<LumaImage>>()),
      followed_(images_) {
  matchers_.push_back(std::move(matcher));
  gst_video_info_init(&format_);
}

Analyser::~Analyser() {
  if (devices_.all.empty()) return;  // moved from
  // Whichever thread stops the element releases the memory. If this fails, an earlier call has
  // reported it.
  const CurrentContext current(device(), context_);
  windows_.reset();
  matchers_.clear();
  live_.clear();
}

void Analyser::set_format(const GstVideoInfo& format) {
  format_ = format;
  follower_.end();
  loaded_.reset();
  const CurrentContext current(device(), context_);  // may release the last reference to them
  std::ranges::fill(live_, nullptr);
  ready_ = false;
  told_.clear();
}

void Analyser::keep_tracks_of(const Analyser& other) {
  follower_ = other.follower_;
  followed_ = other.followed_;
  // What filters have learnt lies on the other device, or in the other context.
  follower_.end_of_filters();
}

xcorr::Status Analyser::configure(const Task& asked) try {
  if (is_ready_for(asked)) return {};
  const Task task = possible(asked);
  const CurrentContext current(device(), context_);
  if (!current.status().ok()) return current.status();
  ready_ = false;
  if (auto status = provide(task.search.max_in_flight()); !status.ok()) return status;
  const xcorr::TrackerSettings filters_for = xcorr::filters_for(task.search.match);
  if (task.search.tracking.by_filter() && (!filters_ || filters_for != of_filters_)) {
    follower_.end_of_filters();  // which have learnt something else
    auto filters = xcorr::Tracker::create(device(), filters_for);
    if (!filters.ok()) return filters.status();
    filters_ = std::make_shared<xcorr::Tracker>(std::move(filters.value()));
    of_filters_ = filters_for;
  }
  if (task.template_set != loaded_ || live() != shall_be_live(task))
    if (auto status = load(task); !status.ok()) return status;
  if (auto status = prepare(task); !status.ok()) return status;
  keep_tracks();
  follower_.configure(
      task.search.tracking, task.search.match,
      xcorr::searched_region({format_.width, format_.height}, task.search.match.search_region),
      zero_window_scores(*images_, task.search.match.method));
  asked_ = asked;
  task_ = task;
  ready_ = true;
  check(task);
  check_depth(asked);
  return {};
} catch (const std::exception& thrown) {
  ready_ = false;
  loaded_.reset();
  return xcorr::status_of(thrown);
}

/// Without what needs frames of 8 bits, if these have more, and in their levels; with what targets
/// are followed by.
Task Analyser::possible(Task task) const {
  task.search.tracking.by = xcorr::follow_by(task.search.tracking, task.search.match);
  if (luma_type(format_) == xcorr::ElementType::u8) return task;
  task.search.tracking.by = xcorr::FollowBy::template_;
  task.search.match.min_contrast *= levels_of_gray(format_);
  return task;
}

xcorr::Status Analyser::provide(std::size_t matchers) {
  begun_ = finished_ = 0;
  if (matchers == matchers_.size()) return {};
  loaded_.reset();  // not all matchers have those templates
  while (matchers_.size() > matchers) matchers_.pop_back();
  while (matchers_.size() < matchers) {
    auto matcher = xcorr::MultiMatcher::create(devices_.all);
    if (!matcher.ok()) return matcher.status();
    matchers_.push_back(std::move(matcher.value()));
  }
  return {};
}

xcorr::Status Analyser::prepare(const Task& task) {
  const xcorr::Size frame{format_.width, format_.height};
  const xcorr::TrackSettings& tracking = task.search.tracking;
  const xcorr::MatchSettings match =
      tracking.enabled ? xcorr::search_for_tracks(task.search.match) : task.search.match;
  for (xcorr::MultiMatcher& matcher : matchers_)
    if (auto status = matcher.prepare(luma_type(format_), frame, match); !status.ok())
      return status;
  return tracking.enabled ? windows_->prepare(frame, match, tracking) : xcorr::Status();
}

/// A template whose pixels are unchanged keeps its tracks.
void Analyser::keep_tracks() {
  if (images_ == followed_) return;
  follower_.replace_templates(origins_of(*images_, *followed_));
  followed_ = images_;
}

bool Analyser::shall_be_live(const Task& task) const {
  return task.search.tracking.updates() || live();
}

xcorr::Status Analyser::load(const Task& task) {
  const auto& template_set = task.template_set;
  std::vector<LumaImage> images;
  for (std::size_t i = 0; i < template_set->size(); ++i) {
    auto image = luma_in(format_, (*template_set)[i]);
    if (!image)
      return {
          xcorr::Code::invalid_argument,
          "Cannot convert the template '" + (*template_set)[i].name() + "' to the frames' format"};
    images.push_back(std::move(*image));
  }
  const auto told = [&](const xcorr::Status& status) {
    return xcorr::Status(status.code(),
                         status.message() + " (the templates are " + files_of(*template_set) + ")");
  };
  LiveTemplates live(images.size());
  if (shall_be_live(task)) {
    auto made = live_templates(device(), images, *images_, live_);
    if (!made.ok()) return told(made.status());
    live = std::move(made.value());
  }
  for (xcorr::MultiMatcher& matcher : matchers_) {
    const auto status = set_templates_of(matcher, images, live);
    if (status.ok()) continue;
    if (&matcher != &matchers_.front())
      loaded_.reset();  // the first ones have the new template set
    return told(status);
  }
  images_ = std::make_shared<std::vector<LumaImage>>(std::move(images));
  live_ = std::move(live);
  windows_->set_templates(images_, live_);
  loaded_ = template_set;
  told_.clear();
  return {};
}

void Analyser::check(const Task& task) {
  if (live() && devices_.all.size() > 1 && images_->size() > 1)
    warn(
        "'devices': templates that change, by 'template-update', are all searched by the first of "
        "them; with template-update=0 from the start on they are shared out");
  const xcorr::Size area =
      xcorr::searched_region({format_.width, format_.height}, task.search.match.search_region)
          .size();
  for (std::size_t i = 0; i < images_->size(); ++i) {
    const LumaImage& image = (*images_)[i];
    const std::string name = "The template '" + (*task.template_set)[i].name() + "'";
    if (!may_fit(image.size, area, task.search.match.poses))
      warn(name + " of " + text_of(image.size) + " pixels" + at_least_of(task.search.match.poses) +
           " is larger than the " + text_of(area) + " that are searched: it cannot match");
    if (xcorr::info(task.search.match.method).centred && image.is_flat())
      warn(name + (image.mask.empty() ? "" : ", where its mask counts,") +
           " is flat: it has no contrast that the method '" +
           xcorr::info(task.search.match.method).name +
           "' could match; 'sqdiff-normed' compares brightness");
  }
}

void Analyser::check_depth(const Task& asked) {
  if (luma_type(format_) == xcorr::ElementType::u8) return;
  const std::string format = gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&format_));
  if (asked.search.tracking.by_filter())
    warn("Filters need frames of 8 bits, not " + format + ": targets are followed by templates");
}

void Analyser::warn(std::string text) {
  if (std::find(told_.begin(), told_.end(), text) != told_.end()) return;
  told_.push_back(text);
  warnings_.push_back(std::move(text));
}

std::vector<std::string> Analyser::take_warnings() { return std::exchange(warnings_, {}); }

std::string Analyser::take_tuning() {
  const std::string& tuning = matchers_.front().tuning();
  if (tuning == told_tuning_) return {};
  return told_tuning_ = tuning;
}

xcorr::Status Analyser::begin(const MappedFrame& frame, xcorr::Memory memory,
                              std::uint64_t number) {
  const CurrentContext current(device(), context_);
  if (!current.status().ok()) return current.status();
  const xcorr::MatrixView view = luma_view(frame, memory);
  const auto status = task_->search.tracking.enabled
                          ? begin_to_follow(view, number)
                          : matchers_[begun_ % matchers_.size()].enqueue(view);
  if (status.ok()) ++begun_;
  return status;
}

xcorr::Status Analyser::finish(std::vector<xcorr::Target>& targets) {
  targets.clear();
  xcorr::MultiMatcher& matcher = matchers_[finished_++ % matchers_.size()];
  const CurrentContext current(device(), context_);
  if (!current.status().ok()) return current.status();
  return task_->search.tracking.enabled ? finish_following(matcher, targets)
                                        : finish_search(matcher, targets);
}

xcorr::Status Analyser::finish_search(xcorr::MultiMatcher& matcher,
                                      std::vector<xcorr::Target>& targets) {
  if (auto status = matcher.collect(peaks_); !status.ok()) return status;
  for (const xcorr::Peak& peak : peaks_)
    targets.push_back(
        {peak, 0, xcorr::TrackState::none, false, std::clamp(peak.similarity, 0.0, 1.0)});
  kernel_ = matcher.kernel();
  return {};
}

bool Analyser::respond(const MappedFrame& frame, xcorr::Memory memory, std::uint32_t template_index,
                       xcorr::Response& response) {
  const CurrentContext current(device(), context_);
  const auto status = current.status().ok() ? matchers_.front().respond(luma_view(frame, memory),
                                                                        template_index, response)
                                            : current.status();
  if (!status.ok()) warn("The pad 'response' has no image: " + status.message());
  return status.ok();
}

xcorr::Status Analyser::begin_to_follow(const xcorr::MatrixView& frame, std::uint64_t number) {
  number_ = number;
  frame_ = frame;
  if (follower_.whole_frame_due())
    if (auto status = matchers_.front().enqueue(frame); !status.ok()) return status;
  return windows_->enqueue(frame, follower_.expectations(number));
}

xcorr::Status Analyser::finish_following(xcorr::MultiMatcher& matcher,
                                         std::vector<xcorr::Target>& targets) {
  peaks_.clear();
  const bool whole = follower_.whole_frame_due();
  if (whole)
    if (auto status = matcher.collect(peaks_); !status.ok()) return status;
  if (auto status = windows_->collect(peaks_); !status.ok()) return status;

  const bool by_filter = task_->search.tracking.by_filter();
  std::vector<xcorr::TargetBox> places;
  std::vector<xcorr::FilterDetection> filter_detections;
  if (by_filter) {
    places = follower_.places_for_filters(number_, peaks_);
    if (auto status = filters_->locate(frame_, places, filter_detections); !status.ok())
      return status;
  }
  const auto before = live() || by_filter ? std::optional(follower_) : std::nullopt;
  follower_.update(number_, peaks_, places, filter_detections);
  if (auto status = by_filter ? teach_filters() : update_templates(); !status.ok()) {
    follower_ = *before;  // so that the frame can be analysed again
    return status;
  }
  targets = follower_.targets();
  if (whole)
    kernel_ = matcher.kernel();
  else if (windows_->any())
    kernel_ = windows_->kernel();
  return {};
}

/// How close what was seen there is to the image that the template started from; nothing where
/// part of it is beyond the frame. At a pose that is cut out, and frame and place become the
/// patch's.
xcorr::Result<std::optional<double>> Analyser::similarity_of_image(xcorr::TemplatePlace& place,
                                                                   xcorr::MatrixView& frame) {
  if (task_->search.match.poses.any()) {
    xcorr::LiveTemplate& live = *live_[place.template_index];
    const auto patch = live.cut(frame, place.seen.pose);
    // Its box may reach beyond the frame where its mask does not.
    if (patch.status().code() == xcorr::Code::invalid_argument) return std::optional<double>();
    if (!patch.ok()) return patch.status();
    if (auto status = live.wait(); !status.ok()) return status;
    frame = patch.value();
    place.x = place.y = 0;
  }
  const auto similarity = windows_->similarity_of_image(frame, place);
  if (!similarity.ok()) return similarity.status();
  return std::optional(similarity.value());
}

/// A template that has changed may find what it has changed to, and not what the target was.
xcorr::Status Analyser::check_returns() {
  constexpr double least_share = 0.85;
  for (const xcorr::TemplatePlace& seen : follower_.found_again()) {
    if (live_[seen.template_index]->version() == 0) continue;
    xcorr::TemplatePlace place = seen;
    xcorr::MatrixView frame = frame_;
    const auto similarity = similarity_of_image(place, frame);
    if (!similarity.ok()) return similarity.status();
    if (similarity.value() &&
        *similarity.value() < least_share * task_->search.tracking.update_score)
      follower_.refuse(seen);
  }
  return {};
}

/// A template takes up only what its image still resembles, so that it cannot drift away for
/// good. The frame is no longer needed when this returns.
xcorr::Status Analyser::update_templates() {
  if (!live()) return {};
  if (auto status = check_returns(); !status.ok()) return status;
  const std::vector<xcorr::TemplatePlace> updates = follower_.template_updates();
  for (xcorr::TemplatePlace update : updates) {
    xcorr::MatrixView frame = frame_;
    const auto similarity = similarity_of_image(update, frame);
    if (!similarity.ok()) return similarity.status();
    if (!similarity.value() || *similarity.value() < task_->search.tracking.update_score) continue;
    if (auto status = live_[update.template_index]->blend(
            frame, static_cast<int>(std::lround(update.x)), static_cast<int>(std::lround(update.y)),
            task_->search.tracking.update);
        !status.ok())
      return status;
  }
  for (const xcorr::TemplatePlace& update : updates)
    if (auto status = live_[update.template_index]->wait(); !status.ok()) return status;
  return {};
}

xcorr::Status Analyser::teach_filters() {
  auto status = filters_->train(frame_, follower_.training_samples());
  // Else the frame is analysed again, with the targets that there were before.
  if (status.ok()) filters_->keep_only(follower_.ids());
  return status;
}

}  // namespace cudaxcorr
