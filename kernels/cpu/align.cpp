// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares on the CPU, a pose a task.
#include "stages/align.hpp"
#include "cpu/common.hpp"

namespace xcorr::cpu {
namespace {

/// Single precision has room for the sums of a row of bytes.
template <class T>
constexpr bool in_single = sizeof(T) == 1;

template <class T>
AlignSums sums_of(const stage::Align::Problem& p, const stage::Align::Buffers& b,
                  const AlignSteps& steps) {
  const T* frame = row_of<T>(b.frame, p.pitch, 0);
  AlignSums sums;
  sums.clear();
  const AlignMap map(steps.pose(), steps.radius());
  for (int y = 0; y < p.size.height; ++y) {
    AlignSumsOf<std::conditional_t<in_single<T>, float, double>> of_row;
    of_row.clear();
    for (int x = 0; x < p.size.width; ++x) {
      const std::int64_t at = std::int64_t{y} * p.size.width + x;
      if (b.counted[at])
        of_row.add(map, frame, p.pitch, p.frame, x - 0.5F * float(p.size.width - 1),
                   y - 0.5F * float(p.size.height - 1), b.smoothed[at]);
    }
    sums.add(of_row);
  }
  return sums;
}

template <class T>
void align(const stage::Align::Problem& p, const stage::Align::Buffers& b) {
  constexpr double lost = in_single<T> ? AlignSums::lost_in_single : AlignSums::lost_in_double;
  tbb::parallel_for(0, p.count, [&](int i) {
    b.alignments[i] = {};
    if (b.starts[i].scale == 0) return;
    AlignSteps steps(b.starts[i], p.freedom, p.radius());
    for (int step = 0; step < AlignSteps::most; ++step)
      if (!steps.step(sums_of<T>(p, b, steps), lost)) break;
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
