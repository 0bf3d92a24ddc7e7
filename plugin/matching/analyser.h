// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the streaming thread computes. Converts the templates to the pipeline's format, keeps
// Matchers prepared, one for each whole frame in flight and others for the windows of tracks, and
// turns what they find into targets. Independent of the element, its lock and its bus.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gst/video/video.h>

#include <xcorr/follower.hpp>
#include <xcorr/multi_matcher.hpp>
#include <xcorr/tracker.hpp>

#include "common/mapped_frame.h"
#include "matching/devices.h"
#include "matching/live_templates.h"
#include "matching/pipeline_context.h"
#include "matching/search_settings.h"
#include "matching/templates.h"
#include "matching/windows.h"

namespace cudaxcorr {

/// What to search for, and how.
struct Task {
  std::shared_ptr<const TemplateSet> template_set;
  SearchSettings search;

  bool operator==(const Task&) const = default;
};

class Analyser {
 public:
  /// Checks that the devices have the requested kernel. They share whole frames' searches; all
  /// else is the first one's.
  static xcorr::Result<Analyser> open(Devices devices, const xcorr::MatchSettings& match,
                                      const PipelineContext& context);
  Analyser(Analyser&&) = default;
  Analyser& operator=(Analyser&&) = delete;
  ~Analyser();

  const xcorr::Device& device() const { return devices_.first(); }
  const std::vector<xcorr::Device>& devices() const { return devices_.all; }
  /// The kernel that searched the frame finished last.
  const std::string& kernel() const { return kernel_; }

  /// Ends all tracks. There must be no frames in flight.
  void set_format(const GstVideoInfo& format);
  /// After set_format(): goes on with the tracks of another analyser of that format. Those that
  /// filters follow end.
  void keep_tracks_of(const Analyser& other);

  /// Whether configure() has succeeded for this task and the present format.
  bool is_ready_for(const Task& task) const { return ready_ && task == asked_; }
  /// Prepares everything for a task. Does nothing if that has been done already; otherwise there
  /// must be no frames in flight. After a failure another task must succeed before the next
  /// begin().
  xcorr::Status configure(const Task& task);

  /// New warnings about the task: templates that cannot match, settings without effect. Each is
  /// given once per template set and format.
  std::vector<std::string> take_warnings();
  /// Adds one.
  void warn(std::string text);

  /// What kernel=tune has measured since the last call, for the log; empty: nothing new.
  std::string take_tuning();

  /// The stream has a gap before the next frame, so tracked targets may be anywhere in it.
  void interrupt() { follower_.interrupt(); }

  /// Starts searching a frame that is mapped in that memory and stays so until it is finished.
  /// Fewer than max_in_flight() may be in flight before. Frame numbers grow, by one if no frame is
  /// left out.
  xcorr::Status begin(const MappedFrame& frame, xcorr::Memory memory, std::uint64_t number);
  /// What has become of targets since the last call.
  std::vector<xcorr::TargetEvent> take_events() { return follower_.take_events(); }

  /// Waits for the oldest frame in flight, which must exist.
  xcorr::Status finish(std::vector<xcorr::Target>& targets);

  /// The scores of one template of the template set at every place of a frame that was begun. False
  /// if that fails; a warning says why.
  bool respond(const MappedFrame& frame, xcorr::Memory memory, std::uint32_t template_index,
               xcorr::Response& response);

 private:
  Analyser(Devices devices, const PipelineContext& context, xcorr::MultiMatcher matcher);
  Task possible(Task task) const;
  xcorr::Status provide(std::size_t matchers);
  bool live() const { return !live_.empty() && live_.front(); }
  /// Templates once made live stay live, even while updates are switched off, but for poses.
  bool shall_be_live(const Task& task) const;
  xcorr::Status load(const Task& task);
  xcorr::Status prepare(const Task& task);
  void keep_tracks();
  void check(const Task& task);
  void check_depth(const Task& asked);
  xcorr::Status begin_to_follow(const xcorr::MatrixView& frame, std::uint64_t number);
  xcorr::Status finish_search(xcorr::MultiMatcher& matcher, std::vector<xcorr::Target>& targets);
  xcorr::Status finish_following(xcorr::MultiMatcher& matcher, std::vector<xcorr::Target>& targets);
  xcorr::Result<std::optional<double>> similarity_of_image(xcorr::TemplatePlace& place,
                                                           xcorr::MatrixView& frame);
  xcorr::Status check_returns();
  xcorr::Status update_templates();
  xcorr::Status teach_filters();

  Devices devices_;
  PipelineContext context_;
  std::vector<xcorr::MultiMatcher> matchers_;  ///< of whole frames, used in turn
  std::size_t begun_ = 0, finished_ = 0;       ///< frames, since matchers_ changed
  std::optional<Windows> windows_;
  std::shared_ptr<xcorr::Tracker> filters_;  ///< of targets by their ids; with tracker=filter
  xcorr::TrackerSettings of_filters_;
  xcorr::Follower follower_;
  std::uint64_t number_ = 0;  ///< of the frame in flight, with tracks
  xcorr::MatrixView frame_;   ///< that frame
  GstVideoInfo format_;
  std::shared_ptr<const TemplateSet> loaded_;  ///< the template set whose luma the matchers hold
  Images images_;
  LiveTemplates live_;  ///< of the images
  Images followed_;     ///< those that the follower's tracks are of
  std::vector<xcorr::Peak> peaks_;
  std::string kernel_;
  std::optional<Task> asked_, task_;  ///< the latter is what of it can be done
  bool ready_ = false;                ///< for asked_ in this format
  std::vector<std::string> warnings_, told_;
  std::string told_tuning_;
};

}  // namespace cudaxcorr
