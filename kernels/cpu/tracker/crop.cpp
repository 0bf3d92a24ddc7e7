// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Turned parts of a frame on the CPU; each thread takes rows of an image.
#include "stages/tracker/crop.hpp"

#include "cpu/common/common.hpp"

namespace xcorr::cpu {
namespace {

using namespace tracker;

template <int bytes>
void crop(const stage::Crop::Problem& p, const stage::Crop::Buffers& b) {
  tbb::parallel_for(0, p.images * window_size, [&](int line) {
    const Cropping& from = b.croppings[line / window_size];
    if (from.samples == 0) return;
    std::uint8_t* const row = b.images + std::int64_t{line} * window_size;
    for (int x = 0; x < window_size; ++x)
      row[x] = cropped<bytes>(p, b.pixels, from, x, line % window_size);
  });
}

Status launch(const stage::Crop::Problem& p, const Device&, const stage::Crop::Buffers& b,
              PlanState*) {
  constexpr void (*of_bytes[])(const stage::Crop::Problem&, const stage::Crop::Buffers&) = {
      crop<1>, crop<2>, crop<3>, crop<4>};
  of_bytes[p.layout.bytes - 1](p, b);
  return {};
}

constexpr Variant<stage::Crop> table[] = {
    {{.name = "crop", .backend = Backend::cpu, .features = Feature::u8}, {.launch = launch}},
};

}  // namespace

Family crop_family() { return Family(table); }

}  // namespace xcorr::cpu
