// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The work of the streaming thread: templates in the pipeline's format, a Matcher for whole frames
// and others for the windows of tracks, kept ready; what they find, as targets. Knows nothing of
// the element, its lock or its bus.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gst/video/video.h>

#include <xcorr/match.hpp>

#include "follower.h"
#include "frame.h"
#include "pipeline_context.h"
#include "properties.h"
#include "templates.h"
#include "tracker.h"
#include "windows.h"

namespace cudaxcorr {

/// What the frames are matched against, and how.
struct Task {
  std::shared_ptr<const Bank> bank;
  xcorr::MatchSettings match;
  TrackSettings tracking;

  bool operator==(const Task&) const = default;
};

class Analyser {
 public:
  /// Opens the backend and checks that it has the kernel asked for. `note` is set when there is no
  /// GPU and the CPU stands in for it. `context` must outlive the analyser.
  static xcorr::Result<Analyser> open(const Settings& settings, PipelineContext& context,
                                      std::string& note);
  Analyser(Analyser&&) = default;
  Analyser& operator=(Analyser&&) = delete;
  ~Analyser();

  xcorr::Backend backend() const { return device_.backend; }
  /// That searched the last frame.
  const std::string& kernel() const { return kernel_; }

  /// Ends all tracks.
  void set_format(const GstVideoInfo& format);

  /// Makes everything ready for a task; nothing to do while it and the format stay the same. When
  /// it fails, the next frame needs a task that succeeds.
  xcorr::Status configure(const Task& task);
  /// The last task that could be done in this or an earlier format.
  const std::optional<Task>& task() const { return task_; }

  /// What users should know of the task: templates that cannot match. Each is told once for a bank
  /// and a format.
  std::vector<std::string> take_warnings();

  /// What kernel=tune found out and has not told yet, for the log; empty: nothing.
  std::string take_tuning();

  /// The stream has a gap before the next frame: where the targets of the tracks are then is open.
  void interrupt() { follower_.interrupt(); }

  /// What is in a mapped frame. The numbers grow from frame to frame, by one if none is left out.
  xcorr::Status analyse(const GstVideoFrame& frame, std::uint64_t number,
                        std::vector<Target>& targets);

 private:
  Analyser(xcorr::Device device, PipelineContext& context, xcorr::Matcher matcher);
  xcorr::Status load(const std::shared_ptr<const Bank>& bank);
  xcorr::Status prepare(const Task& task);
  void keep_tracks();
  void check(const Task& task);
  void warn(std::string text);
  xcorr::Status search(const xcorr::MatrixView& frame, std::vector<Target>& targets);
  xcorr::Status follow(const xcorr::MatrixView& frame, std::uint64_t number,
                       std::vector<Target>& targets);

  xcorr::Device device_;
  PipelineContext* context_;
  std::optional<xcorr::Matcher> matcher_;  ///< of whole frames
  std::optional<Windows> windows_;
  Follower follower_;
  Luma luma_;
  GstVideoInfo format_;
  std::shared_ptr<const Bank> loaded_;  ///< the bank whose luma the matcher holds
  Images images_;
  Images followed_;  ///< those that the follower's tracks are of
  std::vector<xcorr::Peak> peaks_;
  std::string kernel_;
  std::optional<Task> task_;
  bool ready_ = false;  ///< for task_ in this format
  std::vector<std::string> warnings_, told_;
  std::string told_tuning_;
};

}  // namespace cudaxcorr
