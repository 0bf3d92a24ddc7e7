// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage build_pyramid: a template -> its pyramid: it, halved as by the stage pyramid_down, and
// so on, one level after the other in one buffer. Round each lies a rim that repeats its outermost
// pixels, so that whoever interpolates at a place of a level finds there all that is read.
#pragma once

#include <algorithm>

#include "stages/common/rows.hpp"
#include "stages/common/stage.hpp"
#include "stages/match/mask.hpp"
#include "stages/poses/pyramid_down.hpp"

namespace xcorr {

struct TemplatePyramid {
  /// Of the rim, where a level begins and where it ends: what a cubic reads of four pixels.
  static constexpr int before = 1, behind = 2;

  Size size;  ///< of the template
  std::int32_t halvings = 0;

  XCORR_HD constexpr Size size_of(int level) const {
    return {size.width >> level, size.height >> level};
  }
  /// With the rim, and rows of whole words of bytes: those are as far apart as it is wide.
  XCORR_HD constexpr Size rimmed_size_of(int level) const {
    const Size inner = size_of(level);
    return {(inner.width + before + behind + 3) / 4 * 4, inner.height + before + behind};
  }
  XCORR_HD constexpr int pitch_of(int level) const { return rimmed_size_of(level).width; }
  /// Where a level begins with its rim; of the one past the last: where all ends.
  XCORR_HD constexpr std::int64_t begin_of(int level) const {
    std::int64_t begin = 0;
    for (int i = 0; i < level; ++i) begin += rimmed_size_of(i).area();
    return begin;
  }
  /// Where its own first pixel is.
  XCORR_HD constexpr std::int64_t first_of(int level) const {
    return begin_of(level) + before * pitch_of(level) + before;
  }
  /// Of all levels, and a word of bytes: whoever reads words from any byte on reads one more.
  constexpr std::int64_t area() const { return begin_of(halvings + 1) + 4; }
  /// Of pyramids one after the other, and of a mask that lies like one of bytes.
  constexpr Extent extent(ElementType type, int count = 1) const {
    return {count * area() * static_cast<std::int64_t>(xcorr::size_of(type))};
  }
  constexpr Extent mask_extent(const Masking& masking) const {
    return masking ? extent(ElementType::u8) : Extent();
  }
};

namespace stage {

struct BuildPyramid {
  static constexpr const char* name = "build_pyramid";

  struct Problem {
    TemplatePyramid pyramid;
    std::int64_t pitch = 0;  ///< bytes from row to row of the template
    ElementType type = ElementType::u8;

    constexpr Features features() const { return feature_of(type); }
  };

  struct Buffers : Launch {
    const void* pixels = nullptr;
    void* pyramid = nullptr;  ///< what lies past a rim and past the last level may be anything
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("pixels", &Buffers::pixels, matrices(p.type, p.pyramid.size, p.pitch, 0, 1));
    visit("pyramid", &Buffers::pyramid, p.pyramid.extent(p.type));
  }

  /// A pixel of a level with its rim, counted from there. The level below has been made.
  template <class T>
  XCORR_HD static T pixel(const Problem& p, const void* pixels, const T* pyramid, int level, int x,
                          int y) {
    const Size size = p.pyramid.size_of(level);
    const int column = std::clamp(x - TemplatePyramid::before, 0, size.width - 1),
              row = std::clamp(y - TemplatePyramid::before, 0, size.height - 1);
    if (level == 0) return row_of<T>(pixels, p.pitch, row)[column];
    const std::int64_t pitch = p.pyramid.pitch_of(level - 1);
    const T* const upper = pyramid + p.pyramid.first_of(level - 1) + 2 * row * pitch;
    return pyramid_down_pixel(upper, upper + pitch, column);
  }
};

}  // namespace stage
}  // namespace xcorr
