// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/analyser.h"

#include <algorithm>

#include <xcorr/exceptions.hpp>

#include "matching/current_context.h"
#include "matching/frame.h"
#include "matching/long_work.h"
#include "matching/task_warnings.h"

namespace cudaxcorr {

xcorr::Result<Analyser> Analyser::open(Devices devices, const xcorr::MatchSettings& match,
                                       const PipelineContext& context) {
  const CurrentContext current(devices.first(), context);
  if (!current.status().ok()) return current.status();
  auto search = FrameSearch::create(devices.all);
  if (!search.ok()) return search.status();
  // Any size of frame will tell whether the kernel exists, before the first frame arrives.
  if (auto status = search.value().prepare(xcorr::ElementType::u8, {1, 1}, without_demands(match));
      !status.ok())
    return status;
  return Analyser(std::move(devices), context, std::move(search.value()));
}

Analyser::Analyser(Devices devices, const PipelineContext& context, FrameSearch search)
    : devices_(std::move(devices)),
      context_(context),
      parts_(Parts{std::move(search), TrackSession(device()), DetectionSession(device())}) {
  gst_video_info_init(&format_);
}

Analyser::~Analyser() {
  if (devices_.all.empty()) return;  // moved from
  // Whichever thread stops the element releases the memory. If this fails, an earlier call has
  // reported it.
  const CurrentContext current(device(), context_);
  parts_.reset();
}

void Analyser::set_format(const GstVideoInfo& format) {
  format_ = format;
  parts_->tracks.end();
  parts_->detections.end();
  const CurrentContext current(device(), context_);  // may release the last reference to them
  std::ranges::fill(parts_->templates.live, nullptr);
  loaded_ = ready_ = false;
  told_.clear();
}

xcorr::Status Analyser::configure(const Task& asked) try {
  if (is_ready_for(asked)) return {};
  const Task task = possible(asked);
  const CurrentContext current(device(), context_);
  if (!current.status().ok()) return current.status();
  ready_ = false;
  if (task.search.tracking.detections != follows_detections()) {
    parts_->tracks.end();
    parts_->detections.end();
  }
  if (auto status = load(task); !status.ok()) return status;
  if (auto status = prepare(task); !status.ok()) return status;
  if (task.search.tracking.detections)
    if (auto status = parts_->detections.configure(frame_size(), task.search); !status.ok())
      return status;
  asked_ = asked;
  task_ = task;
  ready_ = true;
  if (follows_detections()) {
    if (asked.template_set->size() > 0)
      warn("Detections are followed ('track-detections'), so templates are not searched for");
    return {};
  }
  for (std::string& text :
       warnings_of(asked, task, parts_->templates, format_, devices_.all.size()))
    warn(std::move(text));
  warn_of_work(parts_->search.cost().seconds, "search");
  return {};
} catch (const std::exception& thrown) {
  ready_ = loaded_ = false;
  return xcorr::status_of(thrown);
}

namespace {

/// The prefilter, of all templates.
bool leaves_something(const Task& task) {
  for (std::size_t i = 0; i < task.template_set->size(); ++i)
    if (!xcorr::survives_prefilter((*task.template_set)[i].size(),
                                   task.search.match.prefilter_sigma))
      return false;
  return true;
}

/// Of targets or, where they can have one, of other places.
void set_min_confidence(SearchSettings& search) {
  if (search.min_confidence < 0) return;
  if (search.follows())
    search.tracking.min_confidence = search.min_confidence;
  else if (xcorr::has_confidence(search.match))
    search.match.min_confidence = search.min_confidence;
}

}  // namespace

/// Without what needs frames of 8 bits, if these have more, and in the levels of what is compared
/// of them; without colour, if they have none; without a prefilter, if it leaves nothing of a
/// template; with weights, if templates have any and they can be used; without templates, if
/// detections are followed; with what targets are followed by.
Task Analyser::possible(Task task) const {
  xcorr::MatchSettings& match = task.search.match;
  if (!can_match_on(match.match_on, format_)) match_on_luma(match);
  if (match.match_on == xcorr::MatchOn::color_edges && !has_color(format_))
    match.match_on = xcorr::MatchOn::edges;
  if (xcorr::is_on_edges(match.match_on)) match.min_contrast = 0;
  task.search.tracking.by = xcorr::follow_by(task.search.tracking, task.search.match);
  if (task.search.tracking.detections) task.template_set = std::make_shared<TemplateSet>();
  if (!leaves_something(task)) match.prefilter_sigma = 0;
  set_min_confidence(task.search);
  const bool is_of_bytes =
      luma_type(format_, xcorr::is_in_color(match.match_on)) == xcorr::ElementType::u8;
  match.weights =
      asks_for_weights(task) && (is_of_bytes || match.poses.any()) && xcorr::can_weigh(match);
  if (luma_type(format_) != xcorr::ElementType::u8)
    task.search.tracking.by = xcorr::FollowBy::template_;
  if (is_of_bytes) return task;
  match.min_contrast *= levels_of_gray(format_);
  match.confirm_threshold *= levels_of_gray(format_);
  return task;
}

/// Templates once made live stay live, even while updates are switched off, but for poses.
bool Analyser::shall_be_live(const Task& task) const {
  return task.search.tracking.updates() || parts_->templates.are_live();
}

xcorr::Status Analyser::load(const Task& task) {
  auto& [search, tracks, detections, templates] = *parts_;
  if (const std::size_t depth = task.search.analysed_at_once(); depth != search.depth()) {
    loaded_ = false;  // not all matchers have the templates
    if (auto status = search.set_depth(depth, devices_.all); !status.ok()) return status;
  }
  const TemplateForm form{shall_be_live(task), xcorr::is_in_color(task.search.match.match_on),
                          task.search.match.weights};
  if (loaded_ && task.template_set == templates.template_set && form == templates.form) return {};
  auto made = load_bank(task.template_set, format_, device(), form, templates);
  if (!made.ok()) return made.status();
  loaded_ = false;
  if (auto status = search.set_templates(made.value()); !status.ok())
    return with_names_of(*task.template_set, status);
  if (task.template_set != templates.template_set) told_.clear();
  templates = std::move(made.value());
  tracks.set_templates(templates);
  loaded_ = true;
  return {};
}

xcorr::Status Analyser::prepare(const Task& task) {
  const xcorr::Size frame = frame_size();
  xcorr::MatchSettings match = task.search.tracking.enabled
                                   ? xcorr::search_for_tracks(task.search.match)
                                   : task.search.match;
  match.budget.max_memory /= parts_->search.depth();
  if (auto status = parts_->search.prepare(luma_type(format_, xcorr::is_in_color(match.match_on)),
                                           frame, match, task.search.tracking.enabled);
      !status.ok())
    return xcorr::is_on_edges(match.match_on) ? with_names_of(*task.template_set, status) : status;
  return parts_->tracks.configure(frame, match, task.search);
}

void Analyser::warn(std::string text) {
  if (std::find(told_.begin(), told_.end(), text) != told_.end()) return;
  told_.push_back(text);
  warnings_.push_back(std::move(text));
}

void Analyser::warn_of_work(double seconds, const char* what) {
  if (auto text = text_of_work(seconds, task_->search.match.budget, what); !text.empty())
    warn(std::move(text));
}

template <class Session>
void Analyser::warn_of_filters(const Session& session) {
  warn_of_work(session.seconds(), "filters of targets");
  if (const auto most = session.full())
    warn("Filters follow " + std::to_string(*most) +
         " targets, as many as 'max-work' and 'max-memory' permit: no further one is followed");
}

std::string Analyser::take_tuning() {
  const std::string& tuning = parts_->search.tuning();
  if (tuning == told_tuning_) return {};
  return told_tuning_ = tuning;
}

bool Analyser::is_in_color() const {
  return task_ && xcorr::is_in_color(task_->search.match.match_on);
}

xcorr::MatrixView Analyser::view_of(const MappedFrame& frame, xcorr::Memory memory) const {
  return luma_view(frame, memory, is_in_color());
}

xcorr::Status Analyser::begin(const MappedFrame& frame, xcorr::Memory memory, std::uint64_t number,
                              const std::vector<DetectedBox>& detected) {
  const CurrentContext current(device(), context_);
  if (!current.status().ok()) return current.status();
  const xcorr::MatrixView view = view_of(frame, memory);
  if (follows_detections()) return parts_->detections.begin(view, number, detected);
  return follows() ? parts_->tracks.begin(parts_->search, view, number)
                   : parts_->search.begin(view);
}

xcorr::Status Analyser::finish(std::vector<xcorr::Target>& targets) {
  targets.clear();
  const CurrentContext current(device(), context_);
  if (!current.status().ok()) return current.status();
  if (follows_detections()) {
    warn_of_filters(parts_->detections);
    return parts_->detections.finish(targets);
  }
  if (follows()) {
    warn_of_filters(parts_->tracks);
    return parts_->tracks.finish(parts_->search, targets, kernel_);
  }
  std::vector<xcorr::Peak> peaks;
  if (auto status = parts_->search.finish(peaks); !status.ok()) return status;
  for (const xcorr::Peak& peak : peaks)
    targets.push_back(
        {peak, 0, xcorr::TrackState::none, false,
         peak.confidence < 0 ? std::clamp(peak.similarity, 0.0, 1.0) : peak.confidence});
  kernel_ = parts_->search.kernel();
  return {};
}

xcorr::Status Analyser::release() {
  const CurrentContext current(device(), context_);
  if (!current.status().ok()) return current.status();
  return follows_detections() ? parts_->detections.release() : parts_->tracks.release();
}

std::vector<xcorr::TargetEvent> Analyser::take_events() {
  return follows_detections() ? parts_->detections.take_events() : parts_->tracks.take_events();
}

bool Analyser::respond(const MappedFrame& frame, xcorr::Memory memory, std::uint32_t template_index,
                       xcorr::Response& response) {
  if (follows_detections()) return false;
  const CurrentContext current(device(), context_);
  const auto status = current.status().ok()
                          ? parts_->search.respond(view_of(frame, memory), template_index, response)
                          : current.status();
  if (!status.ok() && status.code() != xcorr::Code::stopped)
    warn("The pad 'response' has no image: " + status.message());
  return status.ok();
}

}  // namespace cudaxcorr
