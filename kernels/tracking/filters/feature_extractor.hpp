// SPDX-License-Identifier: LGPL-2.1-or-later
//
// From a frame to the input of filters: the feature maps of many search windows at once.
#pragma once

#include <span>

#include "match/frame_reader.hpp"
#include "tracking/filters/initial_box.hpp"

namespace xcorr {

/// The features of windows, in the device's memory.
struct SeenWindows {
  int count;
  const tracker::Look* looks;
  const float* channels;
  const double* energies;
};

/// A frame, where kernels read it.
struct SeenFrame {
  stage::FeatureMaps::Problem window;  ///< of one window of it
  const std::uint8_t* pixels = nullptr;
  const std::uint8_t* planes[color_planes] = {};  ///< of its colours

  bool operator==(const SeenFrame&) const = default;
};

class FeatureExtractor {
 public:
  /// `turned`: windows may be.
  static Result<FeatureExtractor> make(const Device& device, bool turned);

  /// Brings what windows see of a frame to where kernels read it: what is there already stays, and
  /// what comes from the host has the same place each time. \param views  round the middle of each
  /// there may be others, a little larger and turned
  Status take(const MatrixView& frame, std::span<const tracker::View> views);
  /// Memory for so many windows.
  Status provide(int windows);
  /// Enqueues what makes the channels of that frame's windows, of `count` from that of `first` on.
  /// \param looks, croppings  of all windows, in the device's memory
  Status enqueue(const tracker::Look* looks, const tracker::Cropping* croppings, int first,
                 int count, Stream stream);
  /// What becomes of these.
  SeenWindows seen(const tracker::Look* looks, int first, int count) const;
  const SeenFrame& frame() const { return frame_; }
  /// Of all its memory for windows: as long as they are as many it is the same, since it only
  /// grows.
  std::size_t bytes() const { return workspace_.bytes() + channels_.bytes() + energies_.bytes(); }

 private:
  Device device_;
  const Variant<stage::FeatureMaps>* feature_maps_ = nullptr;
  bool turned_ = false;
  FrameReader reader_;
  Size most_;  ///< for which the reader is
  SeenFrame frame_;
  Block workspace_, channels_, energies_;
};

}  // namespace xcorr
