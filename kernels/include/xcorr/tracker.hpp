// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Correlation filters that learn. Each follows one target from frame to frame, finds it although it
// changes, and estimates its size. It is a linear filter over channels of gradients, trained not to
// respond to the target's surroundings; docs/tracking.md has the formulas. It searches near a place
// only. To find a target anywhere, use a Matcher.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <xcorr/budget.hpp>
#include <xcorr/device.hpp>
#include <xcorr/export.hpp>
#include <xcorr/types.hpp>

namespace xcorr {

/// In pixels; (0, 0) is the corner of the frame's first pixel.
struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

/// The longest side of a target's box.
inline constexpr double most_box_side = 1 << 20;

/// The caller's number of a target, and where it is or was.
struct TargetBox {
  std::uint64_t target;
  Box box;           ///< as if it were upright
  double angle = 0;  ///< rotation about the middle of the box, see TrackerSettings
  /// Its colours alone say that it may be there, see Tracker::seek_colors().
  bool by_color = false;
};

struct TrackerSettings {
  /// Whether targets rotate. Angles near the last one are then searched, too, which takes at least
  /// 5/3 of the time. Angles are in degrees, counter-clockwise as seen.
  bool turns = false;

  bool operator==(const TrackerSettings&) const = default;
};

struct FilterDetection {
  Box box;  ///< with the proportions of the target's first box
  /// The response of the part of the filter on the target: nearly 1 where the target looks as
  /// trained, about 0 elsewhere.
  double response = 0;
  /// The peak-to-sidelobe ratio of the response: by how many standard deviations it is above the
  /// values around it; 0 if all are equal.
  double psr = 0;
  double angle = 0;  ///< the present rotation; 0 unless targets rotate
  /// How much the target looked as it did first when it was trained last: the response of a filter
  /// that knows that first view alone.
  double first_response = 1;
  /// The same of its colours: the Bhattacharyya coefficient of the two histograms, 0 to 1.
  double color_likeness = 1;
  /// Both of what is seen now, where the PSR is too low to be sure without them; else 0.
  double first_response_here = 0, color_likeness_here = 0;
};

/// The filters of any number of targets. Not for use by several threads at once.
class XCORR_API Tracker {
 public:
  /// The filters stay on the device, two megabytes or so each. Frames in its memory are not copied.
  /// Backends differ slightly, since sums are in single precision. Errors: out_of_memory,
  /// device_error.
  static Result<Tracker> create(const Device& device, const TrackerSettings& settings = {});
  Tracker(Tracker&&) noexcept;
  Tracker& operator=(Tracker&&) noexcept;
  ~Tracker();

  /// Trains the filters with their targets in this frame, which is of u8 with any PixelLayout, in
  /// host or device memory. A new target gets a filter; for others only the area of the box counts.
  /// Boxes may be partly outside the frame, whose edge pixels are then repeated. The filter of a
  /// target without texture finds it nowhere. Errors: invalid_argument for a box that does not
  /// overlap the frame, is smaller than a pixel, larger than the frame in both directions or has a
  /// side of more than most_box_side, for a box or an angle that is not finite, and for a target
  /// that is given twice; no filter is changed then. out_of_memory, device_error.
  Status train(const MatrixView& frame, std::span<const TargetBox> targets);

  /// The same, but it returns before the device has read the frame, which must stay as it is until
  /// wait() has returned. A device that fails meanwhile is told by a later call.
  Status enqueue_training(const MatrixView& frame, std::span<const TargetBox> targets);
  /// The same in the frame that was searched last, which is still as it was then: what has been
  /// brought to the device of it is not brought again.
  Status enqueue_training(std::span<const TargetBox> targets);
  Status wait() const;

  /// Searches for each target around the middle of its box, up to half the box's size or a little
  /// more beyond each side, at sizes near that of the box and, if targets rotate, at angles up to 5
  /// degrees from its angle. The detections are in the order of the targets. Errors: as of train(),
  /// and for targets that have no filter.
  Status locate(const MatrixView& frame, std::span<const TargetBox> targets,
                std::vector<FilterDetection>& filter_detections) const;

  /// The same in two steps: the first returns while the device still looks, the second has the
  /// answers. In between the frame must stay as it is, and nothing else may be called.
  Status enqueue(const MatrixView& frame, std::span<const TargetBox> targets) const;
  Status collect(std::vector<FilterDetection>& filter_detections) const;

  /// Where in a frame of colour targets may be by their colours alone, anywhere: of each the four
  /// likeliest places of its box at most, which are apart; none of a gray frame. The frame is
  /// looked at in windows side by side, sixteen at a time: `turn`, of each call one more, says
  /// which. Errors: as of locate().
  Status seek_colors(const MatrixView& frame, std::span<const TargetBox> targets,
                     std::uint64_t turn, std::vector<TargetBox>& places) const;

  /// An estimate of how long a frame takes with so many targets: to locate them and to learn.
  double seconds(std::size_t targets) const;

  /// With how many targets a frame keeps to the budget: by seconds(), and by the memory of their
  /// filters.
  int most_targets(const Budget& budget) const;

  /// Deletes the filters of all other targets.
  void keep_only(std::span<const std::uint64_t> targets);

 private:
  struct Impl;
  explicit Tracker(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace xcorr
