// SPDX-License-Identifier: LGPL-2.1-or-later
//
// From a frame to what filters see: the channels of many windows at once.
#pragma once

#include <span>

#include "match/frame_reader.hpp"
#include "stages/channels.hpp"

namespace xcorr {

/// What is seen of windows, in the device's memory.
struct SeenWindows {
  int count;
  const tracker::Look* looks;
  const float* channels;
  const double* energies;
};

class ChannelMaker {
 public:
  static Result<ChannelMaker> make(const Device& device);

  /// Brings what windows see of a frame to where kernels read it: all that is less than `reach`
  /// sides away from the middles of these looks. What is there already is read in place.
  Status take(const MatrixView& frame, std::span<const tracker::Look> looks, double reach);
  /// Memory for so many windows.
  Status provide(int windows);
  /// Enqueues what makes the channels of that frame's windows, of `count` from that of `first` on.
  /// `looks`: of all windows, in the device's memory.
  Result<SeenWindows> enqueue(const tracker::Look* looks, int first, int count);

 private:
  Device device_;
  const Variant<stage::Channels>* channels_of_ = nullptr;
  FrameReader reader_;
  Size most_;                        ///< for which the reader is
  stage::Channels::Problem window_;  ///< of one window of the frame
  const std::uint8_t* pixels_ = nullptr;
  Block workspace_, channels_, energies_;
};

}  // namespace xcorr
