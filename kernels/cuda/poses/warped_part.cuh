// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The pixels of a part of a warped template's image (see stages/poses/warp_template.hpp). As a rule
// the part is small: then the places of samples are added up in 32 bits from that of its first
// pixel, which takes a GPU a third of the instructions that 64 do. What lies farther apart is found
// by 64.
#pragma once

#include "cuda/common/row_words.cuh"
#include "stages/poses/warp_template.hpp"

namespace xcorr::cuda {

/// A coordinate of samples from one of them on. Steps are even, so halves of them tell a place, and
/// 32 bits suffice for 255 pixels.
class NearCoordinate {
 public:
  /// Of samples from (x, y) of the image on.
  __device__ NearCoordinate(const WarpedCoordinate& of, int x, int y)
      : by_x_(of.by_x / 2), by_y_(of.by_y / 2) {
    const std::int64_t first = of.where(x, y) + WarpedPlace::half;
    whole_ = static_cast<int>(first >> 24) << 7;
    rest_ = static_cast<std::int32_t>(first & (one - 1)) / 2;
#ifdef __CUDA_ARCH__
    asm("" : "+r"(whole_), "+r"(rest_));  // else they are made anew for each pixel
#endif
  }
  /// Whether so many samples across and down keep to 32 bits.
  __device__ bool fits(int across, int down) const {
    return std::abs(std::int64_t{by_x_}) * across + std::abs(std::int64_t{by_y_}) * down <
           INT32_MAX - one / 2;
  }
  __device__ WarpedPlace at(int x, int y) const {
    return WarpedPlace(whole_ + ((rest_ + x * by_x_ + y * by_y_) >> 16));
  }

 private:
  static constexpr std::int32_t one = 1 << 24;

  int whole_;  ///< 128ths
  std::int32_t rest_, by_x_, by_y_;
};

/// Calls use(pixel_at) once: pixel_at(x, y) is the pixel at (left + x, top + y) of the image.
/// \param places  of the image's samples, in shared memory
template <class Use>
__device__ void for_warped_part(const WarpedTemplate<std::uint8_t>& from, const WarpMap& map,
                                const WarpedPlaces& places, int left, int top, Size part, Use use) {
  const auto use_by = [&](int log2_samples, const auto& u, const auto& v, int first_x,
                          int first_y) {
    use([&, log2_samples, width = map.width - left, height = map.height - top](int x, int y) {
      using Pixel = WarpedPixel<std::uint8_t>;
      return x < width && y < height
                 ? Pixel(
                       from, log2_samples, u, v, first_x + x, first_y + y,
                       [](int fraction) { return CubicWeights(fraction); }, ReadWords())
                 : Pixel();
    });
  };
  const int log2_samples = map.log2_samples, first_x = left << log2_samples,
            first_y = top << log2_samples;
  const NearCoordinate u(places.u, first_x, first_y), v(places.v, first_x, first_y);
  const auto fits = [&](const NearCoordinate& along) {
    return along.fits(part.width << log2_samples, part.height << log2_samples);
  };
  if (!fits(u) || !fits(v))
    use_by(log2_samples, places.u, places.v, left, top);
  else if (log2_samples > 0)
    use_by(log2_samples, u, v, 0, 0);
  else
    use_by(0, u, v, 0, 0);
}

}  // namespace xcorr::cuda
