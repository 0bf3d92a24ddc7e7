// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Scores from products and sums, with the formulas of score.hpp. They are plain C++ that the
// compiler vectorises: the method is a template parameter, so a loop has no branches left. The file
// is compiled once for each of Highway's targets, of which only the compiler settings are used.
// Vectorising needs -fno-math-errno and -fno-trapping-math (kernels/meson.build).
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/match/normalise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef XCORR_CPU_NORMALISE_JOB
#define XCORR_CPU_NORMALISE_JOB
#include <array>

#include "cpu/common/common.hpp"
#include "stages/match/normalise.hpp"
#include "stages/match/score.hpp"

namespace xcorr::cpu::normalise {

/// A row of one template's scores.
struct Job {
  const stage::Normalise::Problem* problem;
  const stage::Normalise::Buffers* buffers;
  int right;             ///< of the launch
  std::int64_t place;    ///< of the row in dense surfaces
  std::int64_t product;  ///< and among the products

  template <int planes>
  auto rights() const {
    std::array<TemplateSums, planes> sums;
    for (int c = 0; c < planes; ++c)
      sums[c] = buffers->template_sums[std::int64_t{c} * problem->correlate.rights +
                                       buffers->first_right + right];
    return sums;
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
  const auto& b = *job.buffers;
  const Product* products = static_cast<const Product*>(b.products) + job.product;
  const Sum* sums = static_cast<const Sum*>(b.window_sums) + job.place;
  const Squares* squares = static_cast<const Squares*>(b.window_squares) + job.place;
  const Problem& p = job.problem->correlate;
  const std::int64_t windows = windows_of(p), product_plane = job.problem->product_plane();
  const std::int64_t count = p.shifts.width, n = job.problem->pixels();
  float* HWY_RESTRICT scores = b.scores + job.right * p.shifts.size().area() + job.place;
  const auto rights = job.rights<planes>();
  if constexpr (std::is_integral_v<Product>) {
    using Term = TermOf<Pixel>;
    for (std::int64_t i = 0; i < count; ++i)
      scores[i] = static_cast<float>(
          score(method, sum_of_planes<planes>([&](int c) HWY_ATTR {
                  return ScoreTerms<Term>(WindowTerms<Term>{
                      n, static_cast<Term>(products[c * product_plane + i]),
                      static_cast<Term>(sums[c * windows + i]),
                      static_cast<Term>(squares[c * windows + i]), static_cast<Term>(rights[c].sum),
                      static_cast<Term>(rights[c].squares)});
                })));
  } else {
    const double pixels = static_cast<double>(n);
    const double product_error = b.product_error ? *b.product_error : 0.0;
    for (std::int64_t i = 0; i < count; ++i)
      scores[i] = static_cast<float>(centred_score(
          method, sum_of_planes<planes>([&](int c) HWY_ATTR {
            return centred_terms(pixels, products[c * product_plane + i],
                                 static_cast<double>(sums[c * windows + i]),
                                 static_cast<double>(squares[c * windows + i]), rights[c]);
          }),
          product_error));
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
    case Method::ccoeff:
      return run_method<Method::ccoeff>(job);
    case Method::ccoeff_normed:
      return run_method<Method::ccoeff_normed>(job);
  }
}

}  // namespace xcorr::cpu::normalise::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace normalise {

HWY_EXPORT(run);

Status launch(const stage::Normalise::Problem& problem, const Device&,
              const stage::Normalise::Buffers& buffers, PlanState*) {
  const Rect& shifts = problem.correlate.shifts;
  const std::int64_t rows = std::int64_t{shifts.height} * buffers.right_count;
  tbb::parallel_for(std::int64_t{0}, rows, [&](std::int64_t row) {
    const std::int64_t r = row / shifts.height, y = row % shifts.height;
    HWY_DYNAMIC_DISPATCH(run)
    ({&problem, &buffers, static_cast<int>(r), y * shifts.width,
      r * problem.products_stride() + y * problem.products_pitch()});
  });
  return {};
}

bool supports(const stage::Normalise::Problem& p, const Device&) {
  return p.correlate.planes == 1 || p.correlate.planes == color_planes;
}

constexpr Variant<stage::Normalise> variants[] = {
    {{.name = "normalise",
      .backend = Backend::cpu,
      .features = match_features | Features(Feature::float_products, Feature::pitched_output)},
     {.supports = supports, .launch = launch}},
};

}  // namespace normalise

Family normalise_family() { return Family(normalise::variants); }

}  // namespace xcorr::cpu
#endif
