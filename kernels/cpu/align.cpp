// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares on the CPU, a pose a task.
#include "stages/align.hpp"
#include "cpu/common.hpp"

namespace xcorr::cpu {
namespace {

/// Calls visit(x, smoothed pixel) for the pixels of a row that take part.
template <class Visit>
void for_row(const stage::Align::Problem& p, const stage::Align::Buffers& b, int y, Visit visit) {
  const SmoothedPixel* const row = b.smoothed + std::int64_t{y} * p.size.width;
  for (int x = 0; x < p.size.width; ++x)
    if (row[x].counts) visit(x, row[x]);
}

template <class T>
AlignSystem system_of(const stage::Align::Problem& p, const stage::Align::Buffers& b) {
  AlignSystem system;
  system.matrix.clear();
  for (int y = 0; y < p.size.height; ++y)
    for_row(p, b, y, [&](int x, const SmoothedPixel& pixel) {
      system.matrix.add_pixel(p.equation<T>(x, y, pixel));
    });
  for (int column = 0; column < align_unknowns; ++column)
    system.has_inverse = system.invert(p.freedom, column);
  return system;
}

template <class T>
AlignRight right_of(const stage::Align::Problem& p, const stage::Align::Buffers& b,
                    const AlignMap& map) {
  // Single precision has room for the sums of a row of bytes.
  using OfRow = AlignRightOf<std::conditional_t<sizeof(T) == 1, float, double>>;
  const AlignFrame<T> frame = p.pixels<T>(b.frame);
  AlignRight sums;
  sums.clear();
  for (int y = 0; y < p.size.height; ++y) {
    OfRow of_row;
    of_row.clear();
    for_row(p, b, y, [&](int x, const SmoothedPixel& pixel) {
      p.add(map, frame, x, y, pixel, ReadEach(), of_row);
    });
    sums.add(of_row);
  }
  return sums;
}

template <class T>
void align(const stage::Align::Problem& p, const stage::Align::Buffers& b) {
  const AlignSystem system = system_of<T>(p, b);
  tbb::parallel_for(0, p.count, [&](int i) {
    b.alignments[i] = {};
    if (b.starts[i].scale == 0) return;
    AlignSteps steps(b.starts[i], p.freedom, p.radius());
    for (int step = 0; step < AlignSteps::most; ++step)
      if (!steps.step(system, right_of<T>(p, b, AlignMap(steps.pose())))) break;
    b.alignments[i] = steps.result();
  });
}

Status launch(const stage::Align::Problem& p, const Device&, const stage::Align::Buffers& b,
              PlanState*) {
  const auto run = p.type == ElementType::u8    ? align<std::uint8_t>
                   : p.type == ElementType::u16 ? align<std::uint16_t>
                                                : align<float>;
  run(p, b);
  return {};
}

constexpr Variant<stage::Align> table[] = {
    {{"align", Backend::cpu, {Feature::u8, Feature::u16, Feature::f32, Feature::contrast}},
     supports_all,
     launch},
};

}  // namespace

Family align_family() { return Family(table); }

}  // namespace xcorr::cpu
