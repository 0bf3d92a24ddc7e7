// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The luma of packed pixels on the CPU. The pixel's size is a constant of each loop so that the
// compiler can vectorise it.
#include "stages/luma.hpp"

namespace xcorr::cpu {
namespace {

/// By value: through a reference, the bytes written might alias it.
template <int bytes>
void convert(stage::Luma::Problem p, stage::Luma::Buffers b) {
  for (int y = 0; y < p.size.height; ++y) {
    const std::uint8_t* from = b.pixels + y * p.pitch;
    std::uint8_t* to = b.luma + y * p.luma_pitch;
    for (int x = 0; x < p.size.width; ++x) to[x] = luma_of<bytes>(p.layout, from + x * bytes);
  }
}

Status launch(const stage::Luma::Problem& p, const Device&, const stage::Luma::Buffers& b,
              PlanState*) {
  constexpr void (*of_bytes[])(stage::Luma::Problem, stage::Luma::Buffers) = {
      convert<1>, convert<2>, convert<3>, convert<4>};
  of_bytes[p.layout.bytes - 1](p, b);
  return {};
}

constexpr Variant<stage::Luma> table[] = {
    {{"luma", Backend::cpu, Feature::u8}, supports_all, launch},
};

}  // namespace

Family luma_family() { return Family(table); }

}  // namespace xcorr::cpu
