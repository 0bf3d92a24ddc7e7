// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The smoothing before a match: of the searched part of a frame, using the surrounding pixels
// within the weights' radius.
#pragma once

#include "device/runtime.hpp"
#include "match/frame_reader.hpp"
#include "stages/image/filter.hpp"

namespace xcorr {

/// The pixels of an image that are so near to a region of it, and the size of the largest such part
/// for regions of that size.
Rect surroundings(const Rect& region, int radius, Size image);
Size largest_surroundings(Size region, int radius, Size image);

class Prefilter {
 public:
  /// Errors: invalid_argument for a width that cannot be.
  static Status check(double sigma);
  /// For regions of that size, anywhere in frames of that size.
  static Result<Prefilter> make(const Device& device, ElementType type, Size frame, Size region,
                                double sigma, int planes = 1);

  /// The part of a frame that is read to smooth a region.
  Rect reads(const Rect& region) const;
  /// The size of the largest such part.
  Size max_read() const;

  /// Enqueues the smoothing of the region; `pixels` are those of reads(region). The smoothed rows
  /// stay valid until the next call.
  Result<Rows> run(const Rows& pixels, const Rect& region, Stream stream);

 private:
  std::int64_t pitch() const {
    return problem_.filtered_pitch * std::int64_t(size_of(problem_.type));
  }

  Device device_;
  Size frame_;
  int planes_ = 1;
  FilterWeights weights_;
  stage::Filter::Problem problem_;  ///< its weights, image and region are set by run()
  const Variant<stage::Filter>* variant_ = nullptr;
  Block filtered_, workspace_;
};

}  // namespace xcorr
