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

/// In parts whose sums 32 bits hold: a term of up to 36 * 255 times a pixel.
HWY_FLATTEN std::int64_t dot(const std::int16_t* HWY_RESTRICT a, const std::int16_t* HWY_RESTRICT b,
                             std::int64_t count) {
  constexpr std::int64_t part = 512;
  std::int64_t total = 0;
  for (std::int64_t first = 0; first < count; first += part) {
    const std::int64_t end = std::min(first + part, count);
    std::int32_t sum = 0;
    for (std::int64_t i = first; i < end; ++i) sum += std::int32_t{a[i]} * b[i];
    total += sum;
  }
  return total;
}

/// The same where both may be terms.
HWY_FLATTEN std::int64_t dot_of_terms(const std::int16_t* a, const std::int16_t* b,
                                      std::int64_t count) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += std::int32_t{a[i]} * b[i];
  return sum;
}

/// Adds the sums over rows [first, end) of the template.
HWY_FLATTEN void add_rows(const Job& job, int first, int end, PlaceSums& sums) {
  constexpr int terms = PlaceSums::terms, reach = PlaceSums::reach;
  const Size size = job.pattern.size;
  const std::int64_t count = std::int64_t{end - first} * size.width;
  std::int16_t* const term = job.scratch;
  std::int16_t* const window = job.scratch + terms * count;
  std::fill_n(term, terms * count, std::int16_t{0});
  for (int y = first; y < end; ++y)
    for (int x = reach; x < size.width - reach; ++x) {
      if (job.inset && !job.inset[std::int64_t{y} * size.width + x]) continue;
      const SplinePixel pixel(job.pattern.row(y) + x, job.pattern.pitch);
      const int of[] = {pixel.by_u, pixel.by_v, pixel.value, 1};
      for (int k = 0; k < terms; ++k)
        term[k * count + std::int64_t{y - first} * size.width + x] =
            static_cast<std::int16_t>(of[k]);
    }
  for (int y = first - reach; y < end + reach; ++y)
    std::copy_n(job.window.row(y), size.width,
                window + std::int64_t{y - first + reach} * size.width);
  int pair = 0;
  for (int i = 0; i < terms; ++i)
    for (int j = 0; j <= i; ++j)
      sums.of[pair++] += dot_of_terms(term + i * count, term + j * count, count);
  // Terms are 0 in the first and last columns, so their first and last products with a window that
  // is moved past the memory are left out.
  for (int shift = 0; shift < PlaceSums::shifts; ++shift)
    for (int k = 0; k < terms; ++k)
      sums.of[PlaceSums::product(shift, k)] += dot(
          term + k * count + reach,
          window + std::int64_t{shift / PlaceSums::across} * size.width + shift % PlaceSums::across,
          count - 2 * reach);
}

FittedPlace place(const Job& job) {
  PlaceSums sums{};
  const Size size = job.pattern.size;
  const int rows = rows_at_a_time(size), last = size.height - PlaceSums::reach;
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
    if (!can_be_fitted(at, p.shifts)) return;
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
