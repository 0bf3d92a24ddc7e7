// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stages that work on templates alone, when these are new or change.
//   template_sums: templates -> their sums and, of f32 or masked ones, what products are made of
//   blend:         a patch of a frame and a running average -> the next average, and its pixels
#pragma once

#include "stages/common/host_device.hpp"
#include "stages/match/mask.hpp"

namespace xcorr {

/// Edges have two planes, x and y of vectors; a plane's numbers have a sign and are stored with
/// this added, which is what they are where there is no edge.
inline constexpr int edge_planes = 2, no_edge = 128;
/// What turns four bytes of edges into numbers with a sign, of which no_edge is 0, and back.
inline constexpr std::uint32_t edge_signs = 0x01010101u * no_edge;

/// Sums over all pixels of a template that count, as often as they do (u8 and u16: exact integers
/// below 2^53; f32: sums of doubles).
struct TemplateSums {
  double sum = 0, squares = 0;  ///< sum t, sum t^2
  /// n sum t^2 - (sum t)^2, n^2 times the variance; for u8 and u16 an integer, rounded once.
  double n2_variance = 0;

  /// Those of another plane.
  XCORR_HD TemplateSums& operator+=(const TemplateSums& other) {
    sum += other.sum;
    squares += other.squares;
    n2_variance += other.n2_variance;
    return *this;
  }
};

namespace stage {

struct TemplateSums {
  static constexpr const char* name = "template_sums";

  struct Problem {
    ElementType type = ElementType::u8;
    Size size;
    int count = 1;
    std::int64_t pitch = 0, stride = 0;  ///< bytes
    Masking masking = {};

    constexpr Features features() const {
      return Features(feature_of(type))
          .with(Feature::mask, bool(masking))
          .with(Feature::weights, masking.weighted);
    }
    /// Whether products are made of something else than the templates themselves.
    constexpr bool has_operands() const { return type == ElementType::f32 || masking; }
    /// Those of bytes times their weights are words.
    constexpr ElementType operand_type() const {
      return masking.weighted ? ElementType::u16 : type;
    }
    /// Laid out like the templates, element by element.
    constexpr Extent operands() const {
      if (!has_operands()) return {0, size_of(type)};
      const auto times = static_cast<std::int64_t>(size_of(operand_type()) / size_of(type));
      return matrices(operand_type(), size, times * pitch, times * stride, count);
    }
  };

  struct Buffers : LaunchOfRights {
    const void* templates = nullptr;
    const std::uint8_t* mask = nullptr;  ///< see stages/match/mask.hpp
    /// Where there are any: the templates, f32 less their mean, and 0 where the mask is, or times
    /// its weights.
    void* operands = nullptr;
    xcorr::TemplateSums* template_sums = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("templates", &Buffers::templates, matrices(p.type, p.size, p.pitch, p.stride, p.count));
    visit("mask", &Buffers::mask, p.masking.extent(p.size));
    visit("operands", &Buffers::operands, p.operands());
    visit("template_sums", &Buffers::template_sums, records<xcorr::TemplateSums>(p.count));
  }
};

struct Blend {
  static constexpr const char* name = "blend";

  struct Problem {
    ElementType type = ElementType::u8;
    Size size;
    std::int64_t patch_pitch = 0;  ///< bytes
    float weight = 0;              ///< see blended_average()

    constexpr Features features() const { return feature_of(type); }
  };

  struct Buffers : Launch {
    const void* patch = nullptr;
    /// Dense: the running averages before and after, which may be the same, and the latter as
    /// pixels.
    const float* averages = nullptr;
    float* next_averages = nullptr;
    void* blended = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("patch", &Buffers::patch, matrices(p.type, p.size, p.patch_pitch, 0, 1));
    visit("averages", &Buffers::averages, elements(ElementType::f32, p.size.area()));
    visit("next_averages", &Buffers::next_averages, elements(ElementType::f32, p.size.area()));
    visit("blended", &Buffers::blended, elements(p.type, p.size.area()));
  }
};

}  // namespace stage
}  // namespace xcorr
