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

/// The colours of a frame, where kernels read them.
struct SeenColors {
  Rect part;  ///< of the frame, which is there
  tracker::ColorLayout layout;
  const std::uint8_t* planes[color_planes];  ///< the part's first pixels
};

class FeatureExtractor {
 public:
  /// `turned`: windows may be.
  static Result<FeatureExtractor> make(const Device& device, bool turned);

  /// Brings what windows see of a frame to where kernels read it. What is there already is read in
  /// place. \param views  round the middle of each there may be others, a little larger and turned
  Status take(const MatrixView& frame, std::span<const tracker::View> views);
  /// Memory for so many windows.
  Status provide(int windows);
  /// Enqueues what makes the channels of that frame's windows, of `count` from that of `first` on.
  /// \param looks, croppings  of all windows, in the device's memory; where windows may be turned,
  /// the looks are at the images that the croppings make of them
  Result<SeenWindows> enqueue(const tracker::Look* looks, const tracker::Cropping* croppings,
                              int first, int count);
  /// Of that frame.
  SeenColors colors() const {
    return {window_.color_part, window_.colors, {planes_[0], planes_[1], planes_[2]}};
  }

 private:
  Device device_;
  const Variant<stage::FeatureMaps>* feature_maps_ = nullptr;
  const Variant<stage::Crop>* crop_ = nullptr;  ///< where windows may be turned
  FrameReader reader_;
  Size most_;                           ///< for which the reader is
  stage::FeatureMaps::Problem window_;  ///< of one window of the frame
  int images_ = 0;                      ///< for which there is memory
  const std::uint8_t* pixels_ = nullptr;
  const std::uint8_t* planes_[color_planes] = {};
  Block workspace_, channels_, energies_, cropped_;
};

}  // namespace xcorr
