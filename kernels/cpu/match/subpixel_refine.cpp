// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares of upright places on the CPU, one task per candidate. Window and terms of the
// template are copied to arrays of some rows, 0 where a pixel takes no part: then a shift is an
// offset, and each sum the dot product of two arrays. Of u8 these are 16-bit arrays, whose products
// the compiler vectorises; of u16 and f32 doubles, which are summed in vectors. The file is
// compiled once for each of Highway's targets.
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/match/subpixel_refine.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef XCORR_CPU_LOCATE_JOB
#define XCORR_CPU_LOCATE_JOB
#include <limits>

#include "cpu/common/common.hpp"
#include "stages/match/subpixel_refine.hpp"

namespace xcorr::cpu::subpixel_refine {

/// What pixels of T are copied to, and what products are summed in.
template <class T>
using Element = std::conditional_t<sizeof(T) == 1, std::int16_t, double>;
template <class T>
using Sum = std::conditional_t<sizeof(T) == 1, std::int64_t, double>;

/// One candidate.
struct Job {
  const stage::SubpixelRefine::Problem* problem;
  const stage::SubpixelRefine::Buffers* buffers;
  std::int64_t right;
  Candidate at;
  void* scratch;
};

/// What of it is read.
template <class T>
struct Images {
  Matrix<T> window, pattern;
  const std::uint8_t* inset;
  Rect part;  ///< see fitted_part()
  double mean;
  Element<T>* scratch;

  Images(const Job& job, int plane)
      : inset(job.buffers->inset),
        mean(job.problem->mean(
            job.buffers
                ->template_sums[std::int64_t{plane} * job.problem->correlate.rights + job.right])),
        scratch(static_cast<Element<T>*>(job.scratch)) {
    const Problem& p = job.problem->correlate;
    window = left_of<T>(p, job.buffers->lefts, 0, plane);
    window.data += (p.shifts.y + job.at.y) * window.pitch +
                   (p.shifts.x + job.at.x) * static_cast<std::int64_t>(sizeof(T));
    pattern = right_of<T>(p, job.buffers->templates, job.right, plane);
    part = job.problem->fitted_part(job.at);
  }

  /// The terms but for the last of the template's pixel there.
  auto terms(const T* pixel) const {
    const std::int64_t pitch = pattern.pitch / static_cast<std::int64_t>(sizeof(T));
    if constexpr (sizeof(T) == 1)
      return SplinePixel(pixel, pitch);
    else
      return U16F32Terms(pixel, pitch, mean);
  }
};

/// Rows of the template that are taken at a time.
template <class T>
int rows_at_a_time(Size size) {
  constexpr int most = 16384 / sizeof(Element<T>);
  return std::clamp(most / size.width, 1, size.height);
}

/// Of the terms, and of the window with the rows above and below.
template <class T>
std::size_t scratch_bytes(Size size) {
  const int rows = rows_at_a_time<T>(size);
  return sizeof(Element<T>) * size.width * (PlaceSums::terms * rows + rows + 2 * PlaceSums::reach);
}

}  // namespace xcorr::cpu::subpixel_refine
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::subpixel_refine::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int most_pixel = 255;
/// The largest values of the terms of u8.
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

/// Doubles have room for all.
HWY_FLATTEN double dot(const double* a, const double* b, std::int64_t count, std::int64_t) {
  const hn::CappedTag<double, 8> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr int chains = 4;  // additions that do not wait for each other
  hn::Vec<decltype(d)> sums[chains];
  for (auto& sum : sums) sum = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + chains * lanes <= count; i += chains * lanes)
    for (int k = 0; k < chains; ++k)
      sums[k] =
          hn::MulAdd(hn::LoadU(d, a + i + k * lanes), hn::LoadU(d, b + i + k * lanes), sums[k]);
  double total =
      hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]))));
  for (; i < count; ++i) total += a[i] * b[i];
  return total;
}

/// The terms of a row of the template, 0 where a pixel takes no part.
template <class T, class E = Element<T>>
HWY_FLATTEN void set_terms(const Images<T>& images, int y, E* HWY_RESTRICT u, E* HWY_RESTRICT v,
                           E* HWY_RESTRICT value, E* HWY_RESTRICT one) {
  const int width = images.pattern.size.width;
  const T* const row = images.pattern.row(y);
  const int first = images.part.x, last = images.part.x + images.part.width;
  for (int x = first; x < last; ++x) {
    const auto pixel = images.terms(row + x);
    u[x] = static_cast<E>(pixel.by_u);
    v[x] = static_cast<E>(pixel.by_v);
    value[x] = static_cast<E>(pixel.value);
  }
  std::fill_n(one, width, E{1});
  for (E* const term : {u, v, value, one}) {
    std::fill(term, term + first, E{0});
    std::fill(term + last, term + width, E{0});
    if (!images.inset) continue;
    const std::uint8_t* const counts = images.inset + std::int64_t{y} * width;
    for (int x = 0; x < width; ++x) term[x] = counts[x] ? term[x] : 0;
  }
}

/// Adds the sums over rows [first, end) of the template.
template <class T>
HWY_FLATTEN void add_rows(const Images<T>& images, int first, int end, PlaceSumsOf<Sum<T>>& sums) {
  constexpr int terms = PlaceSums::terms, reach = PlaceSums::reach;
  const Size size = images.pattern.size;
  const std::int64_t count = std::int64_t{end - first} * size.width;
  Element<T>* const term = images.scratch;
  Element<T>* const window = images.scratch + terms * count;
  for (int y = first; y < end; ++y) {
    Element<T>* const row = term + std::int64_t{y - first} * size.width;
    set_terms(images, y, row, row + count, row + 2 * count, row + 3 * count);
  }
  for (int y = first - reach; y < end + reach; ++y)
    std::copy_n(images.window.row(y), size.width,
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

template <class T>
FittedPlace place_as(const Job& job) {
  PlaceSumsOf<Sum<T>> sums[color_planes] = {};
  const Size size = job.problem->correlate.right;
  const int planes = job.problem->correlate.planes;
  const int rows = rows_at_a_time<T>(size);
  for (int plane = 0; plane < planes; ++plane) {
    const Images<T> images(job, plane);
    const int last = images.part.y + images.part.height;
    if (!images.part.empty())
      for (int y = images.part.y; y < last; y += rows)
        add_rows(images, y, std::min(y + rows, last), sums[plane]);
  }
  PlaceSumsOf<double> all;
  for (int k = 0; k < PlaceSums::count; ++k) all.of[k] = sum_of_planes(sums, planes, k);
  PlaceSolution solutions[PlaceSums::shifts];
  for (int shift = 0; shift < PlaceSums::shifts; ++shift)
    solutions[shift] = place_solution(all, shift);
  return fitted_place(solutions, job.problem->polarity);
}

FittedPlace place(const Job& job) {
  const ElementType type = job.problem->correlate.type;
  return type == ElementType::u8    ? place_as<std::uint8_t>(job)
         : type == ElementType::u16 ? place_as<std::uint16_t>(job)
                                    : place_as<float>(job);
}

}  // namespace xcorr::cpu::subpixel_refine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace subpixel_refine {

HWY_EXPORT(place);

std::size_t slot_bytes(const Problem& p) {
  return p.type == ElementType::u8 ? scratch_bytes<std::uint8_t>(p.right)
                                   : scratch_bytes<float>(p.right);
}

Status launch(const stage::SubpixelRefine::Problem& problem, const Device&,
              const stage::SubpixelRefine::Buffers& b, PlanState*) {
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
    if (stage::stays_whole(problem, b.template_sums, r, at.score) || !can_be_fitted(at, p.shifts))
      return;
    b.fits[index] = HWY_DYNAMIC_DISPATCH(place)({&problem, &b, r, at, memory.of(slot)});
  });
  return {};
}

std::size_t workspace(const stage::SubpixelRefine::Problem& problem, const Device&) {
  return SlotMemory::total(slot_bytes(problem.correlate));
}

bool supports(const stage::SubpixelRefine::Problem& p, const Device&) {
  return p.correlate.planes <= color_planes;
}

constexpr Variant<stage::SubpixelRefine> variants[] = {
    {{.name = "subpixel_refine",
      .backend = Backend::cpu,
      .features = match_features | Features(Feature::overhang)},
     {.supports = supports, .launch = launch, .workspace = workspace}},
};

}  // namespace subpixel_refine

Family subpixel_refine_family() { return Family(subpixel_refine::variants); }

}  // namespace xcorr::cpu
#endif
