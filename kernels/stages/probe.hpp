// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage probe: a frame, pictures of a template and where they are expected -> the exact score
// of each at the best place nearby.
#pragma once

#include <xcorr/methods.hpp>

#include "stages/turn.hpp"

namespace xcorr {

/// Where a picture is expected: its size, and twice the coordinates of its centre.
struct ProbePlace {
  std::int32_t width, height;
  std::int32_t twice_x, twice_y;

  /// The upper left corner there.
  XCORR_HD int left() const { return (twice_x - (width - 1)) >> 1; }
  XCORR_HD int top() const { return (twice_y - (height - 1)) >> 1; }
};

struct ProbedPlace {
  double score;
  std::int32_t x, y;       ///< the picture's upper left corner
  std::int32_t is_inside;  ///< 0: it is wholly inside the frame nowhere nearby, or nothing counts
};

namespace stage {

struct Probe {
  static constexpr const char* name = "probe";
  /// How far a place may be from the expected one along each axis, in pixels.
  static constexpr int reach = 2;

  struct Problem {
    Size frame;
    std::int64_t pitch = 0;  ///< bytes
    Method method = Method::ccoeff_normed;
    Size most;      ///< see Turn
    int count = 1;  ///< of pictures

    constexpr Features features() const { return Feature::u8; }
  };

  struct Buffers : Launch {
    const std::uint8_t* frame = nullptr;
    const std::uint8_t* pictures = nullptr;  ///< see Turn
    const std::uint8_t* masks = nullptr;
    const TurnedSums* sums = nullptr;
    const ProbePlace* expected = nullptr;
    /// Of equal scores the upper place wins, then the left one.
    ProbedPlace* found = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    const Extent pictures = elements(ElementType::u8, p.count * p.most.area());
    visit("frame", &Buffers::frame, matrices(ElementType::u8, p.frame, p.pitch, 0, 1));
    visit("pictures", &Buffers::pictures, pictures);
    visit("masks", &Buffers::masks, pictures);
    visit("sums", &Buffers::sums, records<TurnedSums>(p.count));
    visit("expected", &Buffers::expected, records<ProbePlace>(p.count));
    visit("found", &Buffers::found, records<ProbedPlace>(p.count));
  }

  using Extra = NoExtra;
};

}  // namespace stage
}  // namespace xcorr
