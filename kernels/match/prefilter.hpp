// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The smoothing before a match: of the searched part of a frame, with what lies around it as far as
// the weights reach.
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

  /// The part of a frame that is read for a region of it.
  Rect reads(const Rect& region) const;
  /// The largest that has.
  Size max_read() const;

  /// Enqueues the smoothing of the region; `pixels` is the first of reads(region).
  Status run(const void* pixels, std::int64_t pitch, const Rect& region, Stream stream);

  /// The smoothed region.
  const void* data() const { return filtered_.data(); }
  /// Bytes from row to row of it.
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
