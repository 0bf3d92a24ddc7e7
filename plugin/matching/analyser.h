// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the streaming thread computes: a task is configured once, with its templates loaded in the
// format of the frames, and then each frame is searched as a whole or by tracks. Independent of the
// element, its lock and its bus.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gst/video/video.h>

#include "common/mapped_frame.h"
#include "matching/detection_session.h"
#include "matching/devices.h"
#include "matching/frame_search.h"
#include "matching/loaded_templates.h"
#include "matching/pipeline_context.h"
#include "matching/task.h"
#include "matching/track_session.h"

namespace cudaxcorr {

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
  void keep_tracks_of(const Analyser& other) {
    parts_->tracks.keep_tracks_of(other.parts_->tracks);
  }

  /// After work that was stopped: as after set_format(). There must be no frames in flight.
  void forget() { set_format(format_); }

  /// Whether configure() has succeeded for this task and the present format.
  bool is_ready_for(const Task& task) const { return ready_ && task == asked_; }
  /// Whether frames are compared by their colour, or its edges; then begin() takes them as
  /// color_info() has them.
  bool is_in_color() const;
  /// Prepares everything for a task. Does nothing if that has been done already; otherwise there
  /// must be no frames in flight. After a failure another task must succeed before the next
  /// begin().
  xcorr::Status configure(const Task& task);

  /// New warnings about the task: templates that cannot match, settings without effect. Each is
  /// given once per template set and format.
  std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }
  /// Adds one.
  void warn(std::string text);

  /// What kernel=tune has measured since the last call, for the log; empty: nothing new.
  std::string take_tuning();

  /// The stream has a gap before the next frame, so tracked targets may be anywhere in it.
  void interrupt() {
    parts_->tracks.interrupt();
    parts_->detections.interrupt();
  }

  /// Starts searching a frame that is mapped in that memory and stays so until it is released.
  /// Fewer than analysed_at_once() may be in flight before. Frame numbers grow, by one if no frame
  /// is left out. `detected`: in this frame, by a detector, if these are followed.
  xcorr::Status begin(const MappedFrame& frame, xcorr::Memory memory, std::uint64_t number,
                      const std::vector<DetectedBox>& detected);
  /// What has become of targets since the last call.
  std::vector<xcorr::TargetEvent> take_events();

  /// Waits for the oldest frame in flight, which must exist.
  xcorr::Status finish(std::vector<xcorr::Target>& targets);
  /// Waits until finished frames are no longer read.
  xcorr::Status release();
  /// What the indices of detected targets are of; null where templates are searched for.
  std::shared_ptr<const TemplateSet> labels() const {
    return follows_detections() ? parts_->detections.labels() : nullptr;
  }

  /// The scores of one template of the template set at every place of a frame that was begun. False
  /// if that fails; a warning says why.
  bool respond(const MappedFrame& frame, xcorr::Memory memory, std::uint32_t template_index,
               xcorr::Response& response);

 private:
  /// All that holds memory of the device.
  struct Parts {
    FrameSearch search;
    TrackSession tracks;
    DetectionSession detections;
    LoadedTemplates templates{};
  };
  Analyser(Devices devices, const PipelineContext& context, FrameSearch search);
  Task possible(Task task) const;
  bool shall_be_live(const Task& task) const;
  /// Adds a warning where that many seconds are too many.
  void warn_of_work(double seconds, const char* what);
  /// Adds warnings of what filters of targets take, and of those that there are none for.
  template <class Session>
  void warn_of_filters(const Session& session);
  xcorr::Status load(const Task& task);
  xcorr::Status prepare(const Task& task);
  /// What is compared of a frame.
  xcorr::MatrixView view_of(const MappedFrame& frame, xcorr::Memory memory) const;
  xcorr::Size frame_size() const { return {format_.width, format_.height}; }
  bool follows() const { return task_->search.tracking.enabled; }
  bool follows_detections() const { return task_ && task_->search.tracking.detections; }

  Devices devices_;
  PipelineContext context_;
  std::optional<Parts> parts_;
  GstVideoInfo format_;
  bool loaded_ = false;               ///< all parts have the templates
  std::optional<Task> asked_, task_;  ///< the latter is what of it can be done
  bool ready_ = false;                ///< for asked_ in this format
  std::string kernel_;
  std::vector<std::string> warnings_, told_;
  std::string told_tuning_;
};

}  // namespace cudaxcorr
