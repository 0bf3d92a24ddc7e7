// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Scores from products and sums, with the formulas of score.hpp. They are plain C++ that the
// compiler vectorises: the method is a template parameter, so a loop has no branches left. The file
// is compiled once for each of Highway's targets, of which only the compiler settings are used.
// The variant of window_scores makes the sums of a tile of windows by the code of window_sums
// first. Vectorising needs -fno-math-errno and -fno-trapping-math (kernels/meson.build).
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/match/normalise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef XCORR_CPU_NORMALISE_JOB
#define XCORR_CPU_NORMALISE_JOB
#include <array>

#include "cpu/common/common.hpp"
#include "cpu/match/window_sums.hpp"
#include "stages/match/score.hpp"
#include "stages/match/window_scores.hpp"

namespace xcorr::cpu::normalise {

/// A row of one template's scores, or a part of it.
struct Job {
  const stage::Normalise::Problem* problem;
  std::int64_t count;
  const void* products;  ///< and sums and squares: of the first plane
  const void* sums;
  const void* squares;
  float* scores;
  const TemplateSums* right;
  double product_error;
  std::int64_t window_plane, right_plane;  ///< elements from plane to plane

  template <int planes>
  auto rights() const {
    std::array<TemplateSums, planes> of_planes;
    for (int c = 0; c < planes; ++c) of_planes[c] = right[c * right_plane];
    return of_planes;
  }
};

}  // namespace xcorr::cpu::normalise
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::normalise::HWY_NAMESPACE {

/// Calls term(plane) for each and adds up.
template <int planes, class Term>
HWY_INLINE auto sum_of_planes(const Term& term) {
  auto sum = term(0);
  for (int c = 1; c < planes; ++c) sum += term(c);
  return sum;
}

/// Pixel: whose sums these are.
template <Method method, int planes, class Pixel, class Product, class Sum, class Squares>
HWY_FLATTEN void run_planes(const Job& job) {
  const Product* products = static_cast<const Product*>(job.products);
  const Sum* sums = static_cast<const Sum*>(job.sums);
  const Squares* squares = static_cast<const Squares*>(job.squares);
  float* HWY_RESTRICT scores = job.scores;
  const std::int64_t windows = job.window_plane, product_plane = job.problem->product_plane();
  const std::int64_t count = job.count, n = job.problem->pixels();
  const auto rights = job.rights<planes>();
  // What the method does without need not have been summed.
  constexpr bool has_sums = needs_window_sums(method, !std::is_integral_v<Product>);
  constexpr bool has_squares = needs_window_squares(method);
  const auto sum = [&](std::int64_t i) HWY_ATTR { return has_sums ? sums[i] : Sum{}; };
  const auto square = [&](std::int64_t i) HWY_ATTR { return has_squares ? squares[i] : Squares{}; };
  if constexpr (std::is_integral_v<Product>) {
    using Term = TermOf<Pixel>;
    for (std::int64_t i = 0; i < count; ++i)
      scores[i] = static_cast<float>(score(
          method, sum_of_planes<planes>([&](int c) HWY_ATTR {
            return score_terms(
                method, WindowTerms<Term>{n, static_cast<Term>(products[c * product_plane + i]),
                                          static_cast<Term>(sum(c * windows + i)),
                                          static_cast<Term>(square(c * windows + i)),
                                          static_cast<Term>(rights[c].sum),
                                          static_cast<Term>(rights[c].squares)});
          })));
  } else {
    const double pixels = static_cast<double>(n);
    for (std::int64_t i = 0; i < count; ++i)
      scores[i] = static_cast<float>(centred_score(
          method, sum_of_planes<planes>([&](int c) HWY_ATTR {
            return centred_terms(pixels, products[c * product_plane + i],
                                 static_cast<double>(sum(c * windows + i)),
                                 static_cast<double>(square(c * windows + i)), rights[c]);
          }),
          job.product_error));
  }
}

template <Method method, class Pixel, class Product, class Sum, class Squares>
void run_as(const Job& job) {
  if (job.problem->correlate.planes == 1)
    run_planes<method, 1, Pixel, Product, Sum, Squares>(job);
  else
    run_planes<method, color_planes, Pixel, Product, Sum, Squares>(job);
}

template <Method method>
void run_method(const Job& job) {
  const stage::Normalise::Problem& problem = *job.problem;
  const bool centred = problem.products == ElementType::f32;
  const bool wide = problem.correlate.output_type() == ElementType::u64;
  using u8 = std::uint8_t;
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  if (problem.correlate.type == ElementType::f32)
    run_as<method, float, float, double, double>(job);
  else if (problem.correlate.type == ElementType::u16)
    run_as<method, std::uint16_t, u64, u64, u64>(job);
  else if (centred && wide)
    run_as<method, u8, float, u32, u64>(job);
  else if (centred)
    run_as<method, u8, float, u32, u32>(job);
  else if (wide)
    run_as<method, u8, u64, u32, u64>(job);
  else
    run_as<method, u8, u32, u32, u32>(job);
}

/// Of edges.
void run_orientation(const Job& job) {
  using u8 = std::uint8_t;
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  if (job.problem->correlate.output_type() == ElementType::u64)
    run_planes<Method::orientation, edge_planes, u8, u64, u32, u64>(job);
  else
    run_planes<Method::orientation, edge_planes, u8, u32, u32, u32>(job);
}

void run(const Job& job) {
  switch (job.problem->method) {
    case Method::sqdiff:
      return run_method<Method::sqdiff>(job);
    case Method::sqdiff_normed:
      return run_method<Method::sqdiff_normed>(job);
    case Method::ccorr:
      return run_method<Method::ccorr>(job);
    case Method::ccorr_normed:
      return run_method<Method::ccorr_normed>(job);
    case Method::cosine_distance:
      return run_method<Method::cosine_distance>(job);
    case Method::ccoeff:
      return run_method<Method::ccoeff>(job);
    case Method::ccoeff_normed:
      return run_method<Method::ccoeff_normed>(job);
    case Method::orientation:
      return run_orientation(job);
  }
}

}  // namespace xcorr::cpu::normalise::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace normalise {

HWY_EXPORT(run);

const std::byte* at(const void* data, std::int64_t index, std::size_t element) {
  return static_cast<const std::byte*>(data) + index * static_cast<std::int64_t>(element);
}

Status launch(const stage::Normalise::Problem& problem, const Device&,
              const stage::Normalise::Buffers& buffers, PlanState*) {
  const Rect& shifts = problem.correlate.shifts;
  const std::size_t product = size_of(problem.products);
  const std::size_t sum = size_of(window_sum_type(problem.correlate));
  const std::size_t square = size_of(window_square_type(problem.correlate));
  const double product_error = buffers.product_error ? *buffers.product_error : 0.0;
  const std::int64_t rows = std::int64_t{shifts.height} * buffers.right_count;
  parallel_for(std::int64_t{0}, rows, [&](std::int64_t row) {
    const std::int64_t r = row / shifts.height, y = row % shifts.height, place = y * shifts.width;
    HWY_DYNAMIC_DISPATCH(run)
    ({&problem, shifts.width,
      at(buffers.products, r * problem.products_stride() + y * problem.products_pitch(), product),
      at(buffers.window_sums, place, sum), at(buffers.window_squares, place, square),
      buffers.scores + row * shifts.width, &buffers.template_sums[buffers.first_right + r],
      product_error, windows_of(problem.correlate), problem.correlate.rights});
  });
  return {};
}

bool supports(const stage::Normalise::Problem& p, const Device&) { return can_be_scored(p); }

constexpr Variant<stage::Normalise> variants[] = {
    {{.name = "normalise",
      .backend = Backend::cpu,
      .features = match_features | Features(Feature::float_products, Feature::pitched_output)},
     {.supports = supports, .launch = launch}},
};

// ---- window_scores --------------------------------------------------------------------------

/// A tile of shifts, whose window sums stay in the second-level cache of a slot.
struct Tile {
  Size size;
  std::size_t sums, squares, of_sums, bytes;

  explicit Tile(const Problem& p) {
    const int rows = std::max(64, p.type == ElementType::f32 ? p.right.height : 2 * p.right.height);
    size = {std::min(512, p.shifts.width), std::min(rows, p.shifts.height)};
    SlotParts parts;
    const auto area = static_cast<std::size_t>(size.area());
    sums = parts.add(area * size_of(window_sum_type(p)));
    squares = parts.add(area * size_of(window_square_type(p)));
    of_sums = parts.add(window_sums_slot(part_of(p, {0, 0, size.width, size.height})));
    bytes = parts.bytes;
  }

  static Problem part_of(Problem p, const Rect& places) {
    p.shifts = {p.shifts.x + places.x, p.shifts.y + places.y, places.width, places.height};
    return p;
  }
};

void score_tile(const stage::Normalise::Problem& problem,
                const stage::WindowScores::Buffers& buffers, const Tile& tile, const Rect& places,
                std::byte* memory) {
  const Problem& p = problem.correlate;
  const bool centred = problem.products == ElementType::f32;
  sum_windows({Tile::part_of(p, places),
               {},
               needs_window_sums(problem.method, centred),
               needs_window_squares(problem.method)},
              {{memory + tile.of_sums, buffers.stream},
               buffers.lefts,
               nullptr,
               memory + tile.sums,
               memory + tile.squares});
  const std::size_t product = size_of(problem.products);
  const std::size_t sum = size_of(window_sum_type(p)), square = size_of(window_square_type(p));
  for (int r = 0; r < buffers.right_count; ++r)
    for (int y = 0; y < places.height; ++y) {
      const std::int64_t row = places.y + y, window = std::int64_t{y} * places.width;
      HWY_DYNAMIC_DISPATCH(run)
      ({&problem, places.width,
        at(buffers.products,
           r * problem.products_stride() + row * problem.products_pitch() + places.x, product),
        at(memory + tile.sums, window, sum), at(memory + tile.squares, window, square),
        buffers.scores + r * p.shifts.size().area() + row * p.shifts.width + places.x,
        &buffers.template_sums[buffers.first_right + r],
        buffers.product_error ? *buffers.product_error : 0.0, 0, 0});
    }
}

Status score_windows(const stage::Normalise::Problem& problem, const Device&,
                     const stage::WindowScores::Buffers& buffers, PlanState*) {
  const Rect& shifts = problem.correlate.shifts;
  const Tile tile(problem.correlate);
  const SlotMemory memory(buffers.workspace, tile.bytes);
  const std::int64_t columns = ceil_div(shifts.width, tile.size.width);
  const std::int64_t rows = ceil_div(shifts.height, tile.size.height);
  parallel_slots(slot_count(), columns * rows, [&](int slot, std::int64_t index) {
    const int x = static_cast<int>(index % columns) * tile.size.width;
    const int y = static_cast<int>(index / columns) * tile.size.height;
    score_tile(problem, buffers, tile,
               {x, y, std::min(tile.size.width, shifts.width - x),
                std::min(tile.size.height, shifts.height - y)},
               memory.of(slot));
  });
  return {};
}

std::size_t workspace(const stage::Normalise::Problem& problem, const Device&) {
  return SlotMemory::total(Tile(problem.correlate).bytes);
}

constexpr Variant<stage::WindowScores> window_scores_variants[] = {
    {{.name = "window_scores",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::wide_sums,
                   Feature::float_products, Feature::pitched_output}},
     {.launch = score_windows, .workspace = workspace}},
};

}  // namespace normalise

Family normalise_family() { return Family(normalise::variants, normalise::window_scores_variants); }

}  // namespace xcorr::cpu
#endif
