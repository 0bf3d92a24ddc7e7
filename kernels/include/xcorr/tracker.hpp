// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Filters that learn: each follows one target from frame to frame, finds it where it has changed
// and says how large it is now. A linear correlation filter over channels of gradients, which knows
// the target's surroundings as what it must not answer to; docs/tracking.md has its formulas. It
// looks around a place only: what finds a target that may be anywhere is the Matcher.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <xcorr/device.hpp>
#include <xcorr/export.hpp>
#include <xcorr/types.hpp>

namespace xcorr {

/// Pixels; of the frame's pixels the first one's corner is (0, 0).
struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

/// A target by the number that the caller gives it, and where it is or was.
struct TargetBox {
  std::uint64_t target;
  Box box;           ///< as if it were upright
  double angle = 0;  ///< by how much it is turned round its box's middle, see TrackerSettings
};

struct TrackerSettings {
  /// Whether targets turn. They are then looked for at angles near the last one, too, which takes
  /// 5/3 of the time and more. Angles are in degrees, counter-clockwise as seen.
  bool turns = false;

  bool operator==(const TrackerSettings&) const = default;
};

struct Sight {
  Box box;  ///< with the proportions in which the target was shown first
  /// What the part of the filter that lies on the target answers there: nearly 1 where all is as it
  /// was taught, about 0 elsewhere.
  double response = 0;
  /// The peak-to-sidelobe ratio of these answers: by how many of their standard deviations that is
  /// above the ones around; 0 where all are the same.
  double sharpness = 0;
  double angle = 0;  ///< by how much it is turned now; 0 unless targets turn
};

/// The filters of any number of targets. Not for use by several threads at once.
class XCORR_API Tracker {
 public:
  /// The filters are kept and computed on the device, a megabyte or less each. Of frames in its
  /// memory nothing is copied. Backends give nearly the same sights: their sums are in single
  /// precision. Errors: out_of_memory, device_error.
  static Result<Tracker> create(const Device& device, const TrackerSettings& settings = {});
  Tracker(Tracker&&) noexcept;
  Tracker& operator=(Tracker&&) noexcept;
  ~Tracker();

  /// Teaches the filters what their targets look like in this frame, which is of u8, of any
  /// PixelLayout, in host or device memory. A target that is new gets a filter; for others the
  /// box's height and proportions don't count, only its area. Boxes may be partly outside the
  /// frame, whose edge pixels are then repeated. A target without any texture is learnt as one that
  /// is found nowhere. Errors: invalid_argument for a box that does not overlap the frame, is
  /// smaller than a pixel or larger than the frame in both directions, or is not finite, as for an
  /// angle that is not, and for a target that is there twice; no filter is changed then.
  /// out_of_memory, device_error.
  Status train(const MatrixView& frame, std::span<const TargetBox> targets);

  /// Looks for each target around the middle of its box, half the size of its box beyond each of
  /// its sides or a little more, at sizes near that of the box and, if targets turn, at angles up
  /// to 5 degrees from its angle. Sights in the order of the targets. Errors: as of train(), and
  /// for targets that have no filter.
  Status locate(const MatrixView& frame, std::span<const TargetBox> targets,
                std::vector<Sight>& sights) const;

  /// Forgets all other targets.
  void keep_only(std::span<const std::uint64_t> targets);

 private:
  struct Impl;
  explicit Tracker(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace xcorr
