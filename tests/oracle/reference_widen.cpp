// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of the stage widen.
#include "stages/image/widen.hpp"

namespace xcorr::cpu {
namespace {

Status widen(const stage::Widen::Problem& p, const Device&, const stage::Widen::Buffers& b,
             PlanState*) {
  for (int i = 0; i < p.planes; ++i)
    for (int y = 0; y < p.size.height; ++y)
      for (int x = 0; x < p.size.width; ++x)
        b.words[(i * p.word_plane + y * p.word_pitch) / 2 + x] =
            b.pixels[i * p.plane + y * p.pitch + x];
  return {};
}

constexpr Variant<stage::Widen> table[] = {
    {{.name = "reference", .backend = Backend::cpu, .features = {Feature::u8, Feature::planes}},
     {.launch = widen}},
};

}  // namespace

Family reference_widen_family() { return Family(table); }

}  // namespace xcorr::cpu
