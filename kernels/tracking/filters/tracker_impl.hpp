// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a Tracker holds: its targets, and what looks at frames for them.
#pragma once

#include <xcorr/tracker.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "device/recordings.hpp"
#include "tracking/filters/filter_store.hpp"
#include "tracking/filters/initial_box.hpp"
#include "tracking/filters/sample_memory.hpp"
#include "tracking/filters/view_reader.hpp"
#include "tracking/filters/window_records.hpp"

namespace xcorr {
namespace tracker {

/// So many targets are looked for or taught at a time. A window takes 0.6 MB on the way.
constexpr std::size_t at_a_time = 64;

/// A target that has a filter, or gets one.
struct Target {
  InitialBox initial_box;
  int filter;  ///< its number
  SampleMemory memory{};
  Ways ways;                                      ///< to look for it next
  double first_response = 1, color_likeness = 1;  ///< as of FilterDetection

  /// The side of a window, as a multiple of the square root of the target's area; but it holds the
  /// target with a margin.
  static constexpr double window_share = 4, least_share = 1.25;

  /// \param turns  whether its angle may change
  Target(const Box& box, int number, bool turns)
      : initial_box{box.width, box.height, 0}, filter(number), ways(Ways::first_of(turns)) {
    initial_box.side = std::max(window_share * std::sqrt(box.width * box.height),
                                least_share * std::max(box.width, box.height));
  }
  FilterShape shape() const {
    return {initial_box.width / initial_box.side * grid,
            initial_box.height / initial_box.side * grid};
  }
};

/// A target to be taught, as it is at that box.
struct Pupil {
  Target* target;
  Box box;
  double angle;
  bool first;  ///< whether it knows nothing yet
};

/// A target that is looked for around a box.
struct Search {
  Target* target;
  Box box;
  double angle;
  Ways ways = target->ways;
};

/// Windows that the device is asked about: what the host says of them, what is seen in them, and
/// the answers.
struct AskedWindows {
  WindowRecords records;
  FeatureExtractor features;
  Block response_peaks, likeness;  ///< in memory that host and device reach

  Status provide(Backend backend, std::size_t windows);
  std::size_t bytes() const {
    return records.bytes() + features.bytes() + response_peaks.bytes() + likeness.bytes();
  }
};

/// What launches for windows depend on.
struct WindowsKey {
  SeenFrame frame;  ///< where it is read
  int targets, windows;
  std::size_t bytes;  ///< of memory

  bool operator==(const WindowsKey&) const = default;
};

}  // namespace tracker

struct __attribute__((visibility("hidden"))) Tracker::Impl {
  Device device;
  TrackerSettings settings;
  FilterStore filters;
  std::map<std::uint64_t, tracker::Target> targets;

  ViewReader reader;
  std::vector<tracker::View> views;
  tracker::AskedWindows looked, taught;  ///< apart: to learn may last until the next look
  Recordings<tracker::WindowsKey> looks, lessons;
  Block priors;         ///< in memory that host and device reach
  SideStream side;      ///< histograms, and what hangs on nothing else, run beside
  SideStream learning;  ///< runs beside the next look
  bool learns = false;  ///< what was enqueued there has not been joined
  Event frame_read, colors_learnt, learnt;  ///< by the last teaching
  std::vector<tracker::Target*> pupils;  ///< whose teaching has been enqueued; null: deleted since
  std::vector<tracker::Search> searches;

  ~Impl() { static_cast<void>(wait_for_all()); }

  std::vector<int> free_numbers(std::size_t count) const;
  double turned(double angle) const { return settings.turns ? angle : 0; }
  Status provide(std::size_t windows);
  Status provide_teaching(std::size_t windows);
  Status read(tracker::AskedWindows& windows, std::size_t middles);
  template <class Enqueue>
  Status run(Recordings<tracker::WindowsKey>& recordings, const tracker::WindowsKey& key,
             Stream stream, const Enqueue& enqueue);
  Status join_learning();
  Status wait_for_all();
  Status end_teaching();
  Status train(std::span<const TargetBox> targets);
  Status teach(std::span<const tracker::Pupil> taught_now);
  template <class EnqueueColors>
  Status see(tracker::AskedWindows& windows, int count, Stream stream,
             const EnqueueColors& enqueue_colors);
  Status ask(int targets, int ways);
  Status begin_look(std::span<const tracker::Search> searches);
  Status end_look(std::span<const tracker::Search> searches, FilterDetection* filter_detections);
  Result<std::vector<FilterDetection>> look(std::span<const tracker::Search> asked, bool begun);
  Status compare(std::span<const tracker::Search> searches,
                 std::span<FilterDetection> filter_detections);
  Result<std::vector<tracker::Search>> searches_of(std::span<const TargetBox> targets);
  Result<std::vector<Box>> seek_colors(const tracker::Search& of, std::uint64_t turn);
};

}  // namespace xcorr
