// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage correlate: lefts and rights -> sums of products, see <xcorr/correlate.hpp>. When
// matching, the left is the searched part of the frame and the rights are the templates.
#pragma once

#include "stages/common/stage.hpp"

namespace xcorr {

/// A correlation of which a launch may do only some rights.
struct BatchedProblem {
  Problem correlate;
  int batch = 0;  ///< the most rights of one launch; 0: all

  constexpr int max_rights() const { return batch ? batch : correlate.rights; }
};

/// The features that pixels and shifts require of a variant.
constexpr Features features_of(const Problem& p) {
  const Rect valid = valid_shifts(p.left, p.right), &s = p.shifts;
  const bool inside =
      s.x >= 0 && s.y >= 0 && s.x + s.width <= valid.width && s.y + s.height <= valid.height;
  return feature_of(p.type)
      .with(Feature::several_images, p.lefts > 1)
      .with(Feature::partial_overlap, !inside)
      .with(Feature::own_lefts, p.own_lefts)
      .with(Feature::planes, p.planes > 1)
      .with(Feature::wide_sums, p.output_type() == ElementType::u64);
}

constexpr Extent lefts_of(const Problem& p) {
  Extent extent = matrices(p.type, p.left, p.left_pitch, p.left_stride, p.total_lefts());
  extent.bytes += (p.planes - 1) * p.left_plane;
  return extent;
}
constexpr Extent rights_of(const Problem& p) {
  return matrices(p.type, p.right, p.right_pitch, p.right_stride, p.planes * p.total_rights());
}

namespace stage {

struct Correlate {
  static constexpr const char* name = "correlate";

  struct Problem : BatchedProblem {
    /// Problem::output_type(): the plain sums of the operands. f32 for u8 input (variants that are
    /// not exact): sum f (t - mean t), approximately.
    ElementType products = ElementType::f32;
    /// Elements from row to row of the products, and from one right's to the next. 0: dense.
    std::int64_t product_pitch = 0, product_stride = 0;

    /// Elements from the products of one plane to those of the next.
    constexpr std::int64_t product_plane() const { return max_rights() * products_stride(); }

    constexpr std::int64_t products_pitch() const {
      return product_pitch ? product_pitch : correlate.shifts.width;
    }
    constexpr std::int64_t products_stride() const {
      return product_stride ? product_stride : correlate.shifts.size().area();
    }
    constexpr Extent products_extent() const {
      Extent extent =
          elements(products, correlate.planes * correlate.outputs() * products_stride());
      // A layout that a variant requested has the alignment it needs.
      if (product_pitch) extent.element = 0;
      extent.right_stride = products_stride() * static_cast<std::int64_t>(size_of(products));
      return extent;
    }
    constexpr Features features() const {
      return features_of(correlate)
          .with(Feature::float_products,
                is_integral(correlate.type) && products == ElementType::f32)
          .with(Feature::pitched_output, product_pitch != 0);
    }
  };

  struct Buffers : LaunchOfRights {
    const void* lefts = nullptr;
    /// u8 templates as they are; f32 templates less their mean when matching, so that a common
    /// offset of both sides costs no precision.
    const void* rights = nullptr;
    void* products = nullptr;
    bool new_left = true;  ///< the lefts differ from those of the last launch
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("lefts", &Buffers::lefts, lefts_of(p.correlate));
    visit("rights", &Buffers::rights, rights_of(p.correlate));
    visit("products", &Buffers::products, p.products_extent());
  }

  struct Extra {
    /// Sets the layout of products that is cheapest for the variant; they must then begin on a
    /// 16-byte boundary. Null: dense.
    void (*layout)(Problem&) = nullptr;
    /// The exact variant, if any, that it does the work of in less time, approximately.
    const char* quicker_than = nullptr;
    /// Whether it is the quickest variant for a problem wherever it can run. For what few devices
    /// of a backend have, so that a table from others says nothing of it. Null: never.
    bool (*wins)(const xcorr::Problem&) = nullptr;
  };
};

}  // namespace stage
}  // namespace xcorr
