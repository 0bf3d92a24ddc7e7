// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Separable convolution of images: one set of horizontal weights, one of vertical ones. With
// Gaussian weights it is the prefilter of template matching.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include <xcorr/device.hpp>
#include <xcorr/export.hpp>
#include <xcorr/types.hpp>

namespace xcorr {

inline constexpr int max_filter_radius = 32;

/// The weights of one axis: values[0] to values[2 radius], for the pixels at distances -radius to
/// radius.
struct AxisWeights {
  int radius = 0;
  std::array<double, 2 * max_filter_radius + 1> values = {1};

  constexpr int count() const { return 2 * radius + 1; }
  constexpr bool operator==(const AxisWeights&) const = default;
};

/// exp(-i^2 / (2 sigma^2)) for |i| <= ceil(3 sigma), with a sum of 1; 0 gives the one weight 1.
/// Errors: invalid_argument for a sigma below 0 or whose radius is above max_filter_radius.
XCORR_API Result<AxisWeights> gaussian_weights(double sigma);

/// What to compute. With w = across and v = down, the result at (x, y) is the convolution
///   r[y][x] = sum over (i, j) of v[j] w[i] f[y - j][x - i],
/// |i| and |j| up to the radii, where pixels outside the image are those of its nearest edge
/// (OpenCV's BORDER_REPLICATE). The result has the images' type.
///
/// u8: the weights are rounded to multiples of 2^-11 in such a way that their sum stays the same
/// (to within one rounding), and sums are exact integers: the result is sum + 1/2 rounded down,
/// clamped to [0, 255]. Every device gives the same. Where (sum |v|) (sum |w|) is above 2, the
/// multiples are coarser. u16: the same, clamped to [0, 65535], in double, which holds the sums
/// exactly as long as (sum |v|) (sum |w|) is below 2^15.
///
/// Images have one size and one pitch, and lie at a constant stride.
struct FilterProblem {
  ElementType type = ElementType::u8;  ///< u8, u16, f32 or f64
  Size size;
  int count = 1;
  std::int64_t pitch = 0;   ///< bytes from row to row
  std::int64_t stride = 0;  ///< bytes from one image to the next
  Rect region;              ///< the requested part of the result, inside the image
  AxisWeights across, down;
  ElementType sums = ElementType::f32;  ///< f32 images: the accumulator, f32 or f64
};

/// Dense images, filtered completely, with the same horizontal and vertical weights.
constexpr FilterProblem dense_filter(ElementType type, Size size, const AxisWeights& weights) {
  const auto bytes = static_cast<std::int64_t>(size_of(type));
  return {.type = type,
          .size = size,
          .pitch = size.width * bytes,
          .stride = size.area() * bytes,
          .region = {0, 0, size.width, size.height},
          .across = weights,
          .down = weights};
}

/// A plan for one problem on one device. One plan serves one thread at a time.
class XCORR_API Filter {
 public:
  /// `kernel` is a variant's name or "auto". Errors: invalid_argument for a malformed problem,
  /// unsupported when no such kernel supports it.
  static Result<Filter> create(const FilterProblem& problem, const Device& device,
                               std::string_view kernel = "auto");
  Filter(Filter&&) noexcept;
  Filter& operator=(Filter&&) noexcept;
  ~Filter();

  /// The chosen variant's name.
  const char* kernel() const;
  /// Bytes of scratch memory (in the device's memory) that run() needs.
  std::size_t workspace_bytes() const;

  /// Enqueues the work on `stream`; neither allocates nor waits. `filtered`: dense matrices of
  /// region.size() elements. All three pointers are in the device's memory, do not overlap, are
  /// owned by the caller and must stay valid until the stream has done this work.
  Status run(const void* images, void* filtered, void* workspace, Stream stream = {});

 private:
  struct Impl;
  explicit Filter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace xcorr
