// SPDX-License-Identifier: LGPL-2.1-or-later
//
// From what windows see of a frame to the input of filters: their feature maps, at once.
#pragma once

#include "device/runtime.hpp"
#include "tracking/filters/view_reader.hpp"

namespace xcorr {

/// The features of windows, in the device's memory.
struct SeenWindows {
  int count;
  const tracker::Look* looks;
  const float* channels;
  const double* energies;
};

class FeatureExtractor {
 public:
  static Result<FeatureExtractor> make(const Device& device);

  /// Memory for so many windows.
  Status provide(int windows);
  /// Enqueues what makes the channels of that frame's windows, of `count` from that of `first` on.
  /// \param looks, croppings  of all windows, in the device's memory
  Status enqueue(const SeenFrame& frame, const tracker::Look* looks,
                 const tracker::Cropping* croppings, int first, int count, Stream stream);
  /// What becomes of these.
  SeenWindows seen(const tracker::Look* looks, int first, int count) const;
  /// Of all its memory for windows: as long as they are as many it is the same, since it only
  /// grows.
  std::size_t bytes() const { return workspace_.bytes() + channels_.bytes() + energies_.bytes(); }

 private:
  Device device_;
  const Variant<stage::FeatureMaps>* feature_maps_ = nullptr;
  Block workspace_, channels_, energies_;
};

}  // namespace xcorr
