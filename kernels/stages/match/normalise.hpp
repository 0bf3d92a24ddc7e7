// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage normalise: sums of products, window sums and template sums -> the method's score at
// every shift.
#pragma once

#include <xcorr/methods.hpp>

#include "stages/common/host_device.hpp"
#include "stages/match/templates.hpp"
#include "stages/match/window_sums.hpp"

namespace xcorr {

constexpr Extent template_sums_of(const Problem& p) {
  return records<TemplateSums>(p.planes * p.total_rights());
}
/// Of a right, over its planes.
XCORR_HD inline TemplateSums sums_of_right(const Problem& p, const TemplateSums* template_sums,
                                           std::int64_t right) {
  TemplateSums sums = template_sums[right];
  for (int plane = 1; plane < p.planes; ++plane)
    sums += template_sums[std::int64_t{plane} * p.rights + right];
  return sums;
}

/// Dense surfaces, one per template.
constexpr Extent scores_of(const Problem& p) {
  const std::int64_t area = p.shifts.size().area();
  Extent extent = elements(ElementType::f32, p.outputs() * area);
  extent.right_stride = area * static_cast<std::int64_t>(sizeof(float));
  return extent;
}

namespace stage {

struct Normalise {
  static constexpr const char* name = "normalise";

  /// The correlation whose products these are, one left over valid shifts.
  struct Problem : Correlate::Problem {
    Method method = Method::ccoeff_normed;
    Masking masking = {};

    constexpr std::int64_t pixels() const { return masking.pixels(correlate.right); }
    constexpr Features features() const {
      return Correlate::Problem::features().with(Feature::mask, bool(masking));
    }
  };

  struct Buffers : LaunchOfRights {
    const void* products = nullptr;
    const void* window_sums = nullptr;
    const void* window_squares = nullptr;
    const xcorr::TemplateSums* template_sums = nullptr;
    /// Estimated error of the products as a share of the template's norm sqrt(sum (t - mean t)^2);
    /// null where it does not matter.
    const float* product_error = nullptr;
    float* scores = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("products", &Buffers::products, p.products_extent());
    visit("window_sums", &Buffers::window_sums, window_sums_of(p.correlate));
    visit("window_squares", &Buffers::window_squares, window_squares_of(p.correlate));
    visit("template_sums", &Buffers::template_sums, template_sums_of(p.correlate));
    visit("product_error", &Buffers::product_error, records<float>(1));
    visit("scores", &Buffers::scores, scores_of(p.correlate));
  }
};

/// Of luma and of colour by all methods but one, which is that of edges.
constexpr bool can_be_scored(const Normalise::Problem& p) {
  if (p.method != Method::orientation)
    return p.correlate.planes == 1 || p.correlate.planes == color_planes;
  return p.correlate.planes == edge_planes && p.correlate.type == ElementType::u8 &&
         p.products != ElementType::f32;
}

}  // namespace stage
}  // namespace xcorr
