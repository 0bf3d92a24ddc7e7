// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Bytes as words on the CPU. It is bound by memory.
#include "stages/image/widen.hpp"

#include <algorithm>

#include "cpu/common/common.hpp"

namespace xcorr::cpu {
namespace {

Status launch(const stage::Widen::Problem& p, const Device&, const stage::Widen::Buffers& b,
              PlanState*) {
  auto* const to = reinterpret_cast<std::byte*>(b.words);
  for (int plane = 0; plane < p.planes; ++plane)
    parallel_for(0, p.size.height, [&](int y) {
      std::copy_n(b.pixels + plane * p.plane + y * p.pitch, p.size.width,
                  reinterpret_cast<std::uint16_t*>(to + plane * p.word_plane + y * p.word_pitch));
    });
  return {};
}

constexpr Variant<stage::Widen> table[] = {
    {{.name = "widen", .backend = Backend::cpu, .features = {Feature::u8, Feature::planes}},
     {.launch = launch}},
};

}  // namespace

Family widen_family() { return Family(table); }

}  // namespace xcorr::cpu
