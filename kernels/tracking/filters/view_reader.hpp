// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Brings what windows see of a frame to where kernels read it.
#pragma once

#include <span>

#include "match/frame_reader.hpp"
#include "tracking/filters/initial_box.hpp"

namespace xcorr {

/// A frame, where kernels read it.
struct SeenFrame {
  stage::FeatureMaps::Problem window;  ///< of one window of it
  const std::uint8_t* pixels = nullptr;
  const std::uint8_t* planes[color_planes] = {};  ///< of its colours

  bool operator==(const SeenFrame&) const = default;
};

class ViewReader {
 public:
  ViewReader() = default;
  /// `turned`: windows may be.
  ViewReader(const Device& device, bool turned) : device_(device), turned_(turned) {}

  /// From now on this frame is read.
  void show(const MatrixView& frame);
  /// Enqueues the reading of what views see, unless that is there. What comes from the host has the
  /// same place in every other frame: what reads the frame before may still be under way.
  /// \param views  round the middle of each there may be others, a little larger and turned
  Status read(std::span<const tracker::View> views);

  const MatrixView& frame() const { return frame_; }
  const SeenFrame& seen() const { return seen_; }
  /// Whether kernels read a copy, so that the frame itself has been read with what read() enqueued.
  bool copies() const { return device_.backend != Backend::cpu && frame_.memory == Memory::host; }

 private:
  bool has(const Rect& part) const;

  Device device_;
  bool turned_ = false;
  /// Each has an image that frames are copied to, for parts of them up to `most`.
  struct {
    FrameReader reader;
    Size most;
  } images_[2];
  int image_ = 0;  ///< of these, for the frame
  bool begun_ = false;
  MatrixView frame_;
  SeenFrame seen_;
  Rect part_;  ///< of the frame, which has been read
};

}  // namespace xcorr
