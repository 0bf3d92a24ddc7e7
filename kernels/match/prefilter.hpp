// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The smoothing before a match: of the searched part of a frame, using the surrounding pixels
// within the weights' radius.
#pragma once

#include "device/runtime.hpp"
#include "match/frame_reader.hpp"
#include "stages/filter.hpp"

namespace xcorr {

class Prefilter {
 public:
  /// For regions of that size, anywhere in frames of that size.
  static Result<Prefilter> make(const Device& device, ElementType type, Size frame, Size region,
                                double sigma);

  /// The part of a frame that is read to smooth a region.
  Rect reads(const Rect& region) const;
  /// The size of the largest such part.
  Size max_read() const;

  /// Enqueues the smoothing of the region; `pixels` points to the first pixel of reads(region).
  Status run(const void* pixels, std::int64_t pitch, const Rect& region, Stream stream);

  /// The smoothed region.
  const void* data() const { return filtered_.data(); }
  /// Bytes from row to row of the smoothed region.
  std::int64_t pitch() const {
    return problem_.filtered_pitch * std::int64_t(size_of(problem_.type));
  }

 private:
  Device device_;
  Size frame_;
  FilterWeights weights_;
  stage::Filter::Problem problem_;  ///< its weights, picture and region are set by run()
  const Variant<stage::Filter>* variant_ = nullptr;
  Block filtered_, workspace_;
};

}  // namespace xcorr
