// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The work of the streaming thread: templates in the pipeline's format, Matchers for whole frames,
// one for each frame in work, and others for the windows of tracks, kept ready; what they find, as
// targets. Knows nothing of the element, its lock or its bus.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gst/video/video.h>

#include <xcorr/match.hpp>

#include "matching/live_templates.h"
#include "matching/pipeline_context.h"
#include "matching/search_settings.h"
#include "matching/templates.h"
#include "matching/windows.h"
#include "tracking/follower.h"
#include "tracking/tracker.h"

namespace cudaxcorr {

/// What the frames are matched against, and how.
struct Task {
  std::shared_ptr<const Bank> bank;
  SearchSettings search;

  bool operator==(const Task&) const = default;
};

class Analyser {
 public:
  /// Opens the backend and checks that it has the kernel asked for. `note` is set when there is no
  /// GPU and the CPU stands in for it.
  static xcorr::Result<Analyser> open(const DeviceSettings& device,
                                      const xcorr::MatchSettings& match,
                                      const PipelineContext& context, std::string& note);
  Analyser(Analyser&&) = default;
  Analyser& operator=(Analyser&&) = delete;
  ~Analyser();

  const xcorr::Device& device() const { return device_; }
  /// That searched the frame finished last.
  const std::string& kernel() const { return kernel_; }

  /// Ends all tracks. Not while frames are in work.
  void set_format(const GstVideoInfo& format);

  /// Whether the task is the one made ready.
  bool is_ready_for(const Task& task) const { return ready_ && task == task_; }
  /// Makes everything ready for a task; nothing to do while it and the format stay the same, else
  /// not while frames are in work. When it fails, the next frame needs a task that succeeds.
  xcorr::Status configure(const Task& task);
  /// The last task that could be done in this or an earlier format.
  const std::optional<Task>& task() const { return task_; }

  /// What users should know of the task: templates that cannot match, settings without effect.
  /// Each is told once for a bank and a format.
  std::vector<std::string> take_warnings();

  /// What kernel=tune found out and has not told yet, for the log; empty: nothing.
  std::string take_tuning();

  /// The stream has a gap before the next frame: where the targets of the tracks are then is open.
  void interrupt() { follower_.interrupt(); }

  /// Begins to look for what is in a frame that is mapped in that memory; fewer than the task's
  /// depth are in work. It stays mapped until it is finished. The numbers grow from frame to frame,
  /// by one if none is left out.
  xcorr::Status begin(const GstVideoFrame& frame, xcorr::Memory memory, std::uint64_t number);
  /// Waits for what is in the frame that has been in work longest, which there must be.
  xcorr::Status finish(std::vector<Target>& targets);

  /// What that template of the bank scores everywhere in a frame that was begun. False: nothing,
  /// and a warning says why.
  bool respond(const GstVideoFrame& frame, xcorr::Memory memory, std::uint32_t template_index,
               xcorr::Response& response);

 private:
  Analyser(xcorr::Device device, const PipelineContext& context, xcorr::Matcher matcher);
  xcorr::Status provide(std::size_t matchers);
  bool live() const { return !live_.empty() && live_.front(); }
  xcorr::Status load(const Task& task);
  xcorr::Status prepare(const Task& task);
  void keep_tracks();
  void check(const Task& task);
  void warn(std::string text);
  xcorr::Status begin_to_follow(const xcorr::MatrixView& frame, std::uint64_t number);
  xcorr::Status finish_search(xcorr::Matcher& matcher, std::vector<Target>& targets);
  xcorr::Status finish_following(xcorr::Matcher& matcher, std::vector<Target>& targets);
  xcorr::Status update_templates();

  xcorr::Device device_;
  PipelineContext context_;
  std::vector<xcorr::Matcher> matchers_;  ///< of whole frames, used in turn
  std::size_t begun_ = 0, finished_ = 0;  ///< frames, since matchers_ changed
  std::optional<Windows> windows_;
  Follower follower_;
  std::uint64_t number_ = 0;  ///< of the frame in work, with tracks
  xcorr::MatrixView frame_;   ///< it
  GstVideoInfo format_;
  std::shared_ptr<const Bank> loaded_;  ///< the bank whose luma the matcher holds
  Images images_;
  LiveTemplates live_;  ///< of the images
  Images followed_;     ///< those that the follower's tracks are of
  std::vector<xcorr::Peak> peaks_;
  std::string kernel_;
  std::optional<Task> task_;
  bool ready_ = false;  ///< for task_ in this format
  std::vector<std::string> warnings_, told_;
  std::string told_tuning_;
};

}  // namespace cudaxcorr
