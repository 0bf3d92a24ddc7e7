// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Since when is it there, until when? What templates find in each frame becomes two events for each
// label: appeared and gone. They are told once several frames have confirmed them, and name the
// frames that showed the label first and last. Frames that nobody analysed change nothing; how many
// they were is told, since the label may have come or gone in any of them.
//
//   presence.set_labels(labels of the templates)
//   for each frame: presence.update(time, targets), or presence.skip() if it was not analysed
//   presence.take_events()
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <xcorr/export.hpp>
#include <xcorr/follower.hpp>

namespace xcorr {

struct PresenceSettings {
  int appear_frames = 2;  ///< analysed frames in a row that must show a label, at least 1
  int gone_frames = 2;    ///< and those that must not show it any more, at least 1
};

inline constexpr auto unknown_time = std::numeric_limits<std::uint64_t>::max();

/// When a frame is shown and when it was taken, as the caller counts; only passed on.
struct FrameTime {
  std::uint64_t running_time = unknown_time, utc = unknown_time;

  bool operator==(const FrameTime&) const = default;
};

enum class PresenceChange { appeared, gone };

XCORR_API const char* name_of(PresenceChange change);

struct PresenceEvent {
  PresenceChange change;
  std::string label;
  FrameTime first;  ///< of the first frame that showed it
  FrameTime last;   ///< of the last one so far
  /// How many frames in a row passed unanalysed right before the first frame, of an `appeared`, or
  /// right after the last one, of a `gone`. 0: the event is exact to the frame.
  std::uint64_t unanalysed = 0;
  Target target;  ///< as the first frame showed it, of an `appeared`, or the last one
};

/// A frame costs as much as it has targets and as labels are there, not as there are templates.
class XCORR_API Presence {
 public:
  Presence();
  Presence(Presence&&) noexcept;
  Presence& operator=(Presence&&) noexcept;
  ~Presence();

  void configure(const PresenceSettings& settings);

  /// The label of each template, by its index. Templates may share a label: it is there while one
  /// of them is. Labels go on by their names, as seen by their first template; one that is there
  /// and has no template any more is gone, with no_template.
  void set_labels(std::span<const std::string> labels);

  /// The next frame and what was found in it. Targets that are lost do not count, nor do those of
  /// templates without a label. Of several with one label the most confident counts.
  void update(const FrameTime& time, std::span<const Target> targets);
  /// The next frame was not analysed.
  void skip();
  /// The stream has a gap before the next frame: what waits to be confirmed begins anew.
  void interrupt();

  /// Of the last update(): places where a label is shown that was not there before.
  std::span<const Target> newcomers() const;

  /// The events since the last call.
  std::vector<PresenceEvent> take_events();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace xcorr
