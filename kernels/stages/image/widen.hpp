// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage widen: a picture of bytes -> the same numbers as words, which products with weighted
// templates are made of.
#pragma once

#include "stages/common/stage.hpp"

namespace xcorr::stage {

struct Widen {
  static constexpr const char* name = "widen";

  struct Problem {
    Size size;
    int planes = 1;
    std::int64_t pitch = 0, plane = 0;  ///< bytes from row to row, from plane to plane
    /// Those of the words: multiples of 16. Up to the next 16 bytes past a row's words are
    /// overwritten.
    std::int64_t word_pitch = 0, word_plane = 0;

    constexpr Features features() const {
      return Features(Feature::u8).with(Feature::planes, planes > 1);
    }
  };

  struct Buffers : Launch {
    const std::uint8_t* pixels = nullptr;
    std::uint16_t* words = nullptr;  ///< on a 16-byte boundary
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("pixels", &Buffers::pixels,
          matrices(ElementType::u8, p.size, p.pitch, p.plane, p.planes));
    visit("words", &Buffers::words,
          Extent{(p.planes - 1) * p.word_plane + p.size.height * p.word_pitch});
  }
};

}  // namespace xcorr::stage
