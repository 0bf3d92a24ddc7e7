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
#include "cpu/common/common.hpp"
#include "stages/match/normalise.hpp"
#include "stages/match/score.hpp"

namespace xcorr::cpu::normalise {

/// A row of one template's scores.
struct Job {
  const stage::Normalise::Problem* problem;
  const void* products;
  const void* sums;
  const void* squares;
  float* scores;
  const TemplateSums* right;
  double product_error;
};

}  // namespace xcorr::cpu::normalise
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::normalise::HWY_NAMESPACE {

/// Pixel: whose sums these are.
template <Method method, class Pixel, class Product, class Sum, class Squares>
HWY_FLATTEN void run_as(const Job& job) {
  const Product* products = static_cast<const Product*>(job.products);
  const Sum* sums = static_cast<const Sum*>(job.sums);
  const Squares* squares = static_cast<const Squares*>(job.squares);
  float* HWY_RESTRICT scores = job.scores;
  const std::int64_t count = job.problem->correlate.shifts.width;
  const std::int64_t n = job.problem->pixels();
  if constexpr (std::is_integral_v<Product>) {
    using Term = TermOf<Pixel>;
    const auto right_sum = static_cast<Term>(job.right->sum);
    const auto right_squares = static_cast<Term>(job.right->squares);
    for (std::int64_t i = 0; i < count; ++i)
      scores[i] = static_cast<float>(score(
          method, WindowTerms<Term>{n, static_cast<Term>(products[i]), static_cast<Term>(sums[i]),
                                    static_cast<Term>(squares[i]), right_sum, right_squares}));
  } else {
    const TemplateSums right = *job.right;
    const double pixels = static_cast<double>(n), product_error = job.product_error;
    for (std::int64_t i = 0; i < count; ++i)
      scores[i] = static_cast<float>(
          centred_score(method, pixels, products[i], static_cast<double>(sums[i]),
                        static_cast<double>(squares[i]), right, product_error));
  }
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
  const std::size_t product = size_of(problem.products);
  const std::size_t sum = size_of(window_sum_type(problem.correlate));
  const std::size_t square = size_of(window_square_type(problem.correlate));
  const double product_error = buffers.product_error ? *buffers.product_error : 0.0;
  const auto at = [](const void* data, std::int64_t index, std::size_t element) {
    return static_cast<const std::byte*>(data) + index * static_cast<std::int64_t>(element);
  };
  const std::int64_t rows = std::int64_t{shifts.height} * buffers.right_count;
  tbb::parallel_for(std::int64_t{0}, rows, [&](std::int64_t row) {
    const std::int64_t r = row / shifts.height, y = row % shifts.height, place = y * shifts.width;
    HWY_DYNAMIC_DISPATCH(run)
    ({&problem,
      at(buffers.products, r * problem.products_stride() + y * problem.products_pitch(), product),
      at(buffers.window_sums, place, sum), at(buffers.window_squares, place, square),
      buffers.scores + row * shifts.width, &buffers.template_sums[buffers.first_right + r],
      product_error});
  });
  return {};
}

constexpr Variant<stage::Normalise> variants[] = {
    {{.name = "normalise",
      .backend = Backend::cpu,
      .features = match_features | Features(Feature::float_products, Feature::pitched_output)},
     {.launch = launch}},
};

}  // namespace normalise

Family normalise_family() { return Family(normalise::variants); }

}  // namespace xcorr::cpu
#endif
