// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares of upright places on the CPU, a candidate a task. Window and terms of the template
// are copied to 16-bit arrays of some rows, 0 where a pixel takes no part: then a shift is an
// offset, and each sum the dot product of two arrays, which the compiler vectorises; the file is
// compiled once for each of Highway's targets.
#include "cpu/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/locate.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef XCORR_CPU_LOCATE_JOB
#define XCORR_CPU_LOCATE_JOB
#include <limits>

#include "cpu/common.hpp"
#include "stages/locate.hpp"

namespace xcorr::cpu::locate {

/// One candidate.
struct Job {
  Matrix<std::uint8_t> window, pattern;
  const std::uint8_t* inset;
  std::int16_t* scratch;
  Polarity polarity;
};

/// Rows of the template that are taken at a time.
inline int rows_at_a_time(Size size) {
  constexpr int most = 8192;
  return std::clamp(most / size.width, 1, size.height);
}

/// Elements: of the terms, and of the window with the rows above and below.
inline std::int64_t scratch_elements(Size size) {
  const int rows = rows_at_a_time(size);
  return std::int64_t{size.width} * (PlaceSums::terms * rows + rows + 2 * PlaceSums::reach);
}

}  // namespace xcorr::cpu::locate
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::locate::HWY_NAMESPACE {

constexpr int most_pixel = 255;
/// The largest values of the terms.
constexpr int most_of[PlaceSums::terms] = {SplinePixel::slope_unit / 2 * most_pixel,
                                           SplinePixel::slope_unit / 2 * most_pixel,
                                           SplinePixel::value_unit* most_pixel, 1};

/// \param most  of a product: as many are summed in 32 bits as these hold, if that is worth it.
HWY_FLATTEN std::int64_t dot(const std::int16_t* HWY_RESTRICT a, const std::int16_t* HWY_RESTRICT b,
                             std::int64_t count, std::int64_t most) {
  constexpr std::int64_t step = 64;
  const std::int64_t part = std::numeric_limits<std::int32_t>::max() / most / step * step;
  std::int64_t total = 0;
  if (part == 0)
    for (std::int64_t i = 0; i < count; ++i) total += std::int32_t{a[i]} * b[i];
  else
    for (std::int64_t first = 0; first < count; first += part) {
      const std::int64_t end = std::min(first + part, count);
      std::int32_t sum = 0;
      for (std::int64_t i = first; i < end; ++i) sum += std::int32_t{a[i]} * b[i];
      total += sum;
    }
  return total;
}

/// The terms of a row of the template, 0 where a pixel takes no part.
HWY_FLATTEN void set_terms(const Job& job, int y, std::int16_t* HWY_RESTRICT u,
                           std::int16_t* HWY_RESTRICT v, std::int16_t* HWY_RESTRICT value,
                           std::int16_t* HWY_RESTRICT one) {
  const int width = job.pattern.size.width;
  const std::uint8_t* const row = job.pattern.row(y);
  for (int x = PlaceSums::reach; x < width - PlaceSums::reach; ++x) {
    const SplinePixel pixel(row + x, job.pattern.pitch);
    u[x] = static_cast<std::int16_t>(pixel.by_u);
    v[x] = static_cast<std::int16_t>(pixel.by_v);
    value[x] = static_cast<std::int16_t>(pixel.value);
  }
  std::fill_n(one, width, std::int16_t{1});
  for (std::int16_t* const term : {u, v, value, one}) {
    std::fill_n(term, PlaceSums::reach, std::int16_t{0});
    std::fill_n(term + width - PlaceSums::reach, PlaceSums::reach, std::int16_t{0});
    if (!job.inset) continue;
    const std::uint8_t* const counts = job.inset + std::int64_t{y} * width;
    for (int x = 0; x < width; ++x) term[x] = counts[x] ? term[x] : 0;
  }
}

/// Adds the sums over rows [first, end) of the template.
HWY_FLATTEN void add_rows(const Job& job, int first, int end, PlaceSums& sums) {
  constexpr int terms = PlaceSums::terms, reach = PlaceSums::reach;
  const Size size = job.pattern.size;
  const std::int64_t count = std::int64_t{end - first} * size.width;
  std::int16_t* const term = job.scratch;
  std::int16_t* const window = job.scratch + terms * count;
  for (int y = first; y < end; ++y) {
    std::int16_t* const row = term + std::int64_t{y - first} * size.width;
    set_terms(job, y, row, row + count, row + 2 * count, row + 3 * count);
  }
  for (int y = first - reach; y < end + reach; ++y)
    std::copy_n(job.window.row(y), size.width,
                window + std::int64_t{y - first + reach} * size.width);
  int pair = 0;
  for (int i = 0; i < terms; ++i)
    for (int j = 0; j <= i; ++j)
      sums.of[pair++] +=
          dot(term + i * count, term + j * count, count, std::int64_t{most_of[i]} * most_of[j]);
  // Terms are 0 in the first and last columns, so their first and last products with a window that
  // is moved past the memory are left out.
  for (int shift = 0; shift < PlaceSums::shifts; ++shift)
    for (int k = 0; k < terms; ++k)
      sums.of[PlaceSums::product(shift, k)] += dot(
          term + k * count + reach,
          window + std::int64_t{shift / PlaceSums::across} * size.width + shift % PlaceSums::across,
          count - 2 * reach, std::int64_t{most_of[k]} * most_pixel);
}

FittedPlace place(const Job& job) {
  PlaceSums sums{};
  const Size size = job.pattern.size;
  const int rows = rows_at_a_time(size), last = size.height - PlaceSums::reach;
  if (size.width > 2 * PlaceSums::reach)  // no pixel of a narrower template takes part
    for (int y = PlaceSums::reach; y < last; y += rows)
      add_rows(job, y, std::min(y + rows, last), sums);
  PlaceSolution solutions[PlaceSums::shifts];
  for (int shift = 0; shift < PlaceSums::shifts; ++shift)
    solutions[shift] = place_solution(sums, shift);
  return fitted_place(solutions, job.polarity);
}

}  // namespace xcorr::cpu::locate::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace locate {

HWY_EXPORT(place);

std::size_t slot_bytes(const Problem& p) {
  return sizeof(std::int16_t) * scratch_elements(p.right);
}

Status launch(const stage::Locate::Problem& problem, const Device&, const stage::Locate::Buffers& b,
              PlanState*) {
  const Problem& p = problem.correlate;
  const SlotMemory memory(b.workspace, slot_bytes(p));
  const std::int64_t places = std::int64_t{b.right_count} * problem.max_peaks;
  parallel_slots(slot_count(), places, [&](int slot, std::int64_t place) {
    const int r = b.first_right + static_cast<int>(place / problem.max_peaks);
    const std::int64_t i = place % problem.max_peaks,
                       index = std::int64_t{r} * problem.max_peaks + i;
    if (i >= b.counts[r]) return;
    const Candidate& at = b.candidates[index];
    b.fits[index] = {0, 0, 0};
    if (stage::stays_whole(problem, b.template_sums[r], at.score) || !can_be_fitted(at, p.shifts))
      return;
    auto window = left_of<std::uint8_t>(p, b.lefts, 0);
    window.data += (p.shifts.y + at.y) * window.pitch + p.shifts.x + at.x;
    b.fits[index] = HWY_DYNAMIC_DISPATCH(place)(
        {window, right_of<std::uint8_t>(p, b.templates, r), b.inset,
         reinterpret_cast<std::int16_t*>(memory.of(slot)), problem.polarity});
  });
  return {};
}

std::size_t workspace(const stage::Locate::Problem& problem, const Device&) {
  return SlotMemory::total(slot_bytes(problem.correlate));
}

constexpr Variant<stage::Locate> variants[] = {
    {{"locate",
      Backend::cpu,
      {Feature::u8, Feature::wide_sums, Feature::several_peaks, Feature::mask, Feature::contrast}},
     supports_all,
     launch,
     workspace},
};

}  // namespace locate

Family locate_family() { return Family(locate::variants); }

}  // namespace xcorr::cpu
#endif
