// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Scores from products and sums, with the formulas of score.hpp. They are plain C++ that the
// compiler turns into vectors: the method is a template parameter, so a loop has no branches left;
// the file is compiled once for each of Highway's targets, of which only the settings are used.
// It needs -fno-math-errno and -fno-trapping-math (kernels/meson.build) to do so.
#include "simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/normalise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef XCORR_CPU_NORMALISE_JOB
#define XCORR_CPU_NORMALISE_JOB
#include "../score.hpp"
#include "common.hpp"

namespace xcorr::cpu::normalise {

/// Some of the places of one right.
struct Job {
  const MatchProblem* problem;
  const void* products;
  const void* sums;
  const void* squares;
  float* scores;
  const RightSums* right;
  double product_error;
  std::int64_t first, count;
};

}  // namespace xcorr::cpu::normalise
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::normalise::HWY_NAMESPACE {

template <Method method, class Product, class Sum, class Squares>
HWY_FLATTEN void run_as(const Job& job) {
  const Product* products = static_cast<const Product*>(job.products) + job.first;
  const Sum* sums = static_cast<const Sum*>(job.sums) + job.first;
  const Squares* squares = static_cast<const Squares*>(job.squares) + job.first;
  float* HWY_RESTRICT scores = job.scores + job.first;
  const std::int64_t count = job.count, n = job.problem->correlate.right.area();
  if constexpr (std::is_integral_v<Product>) {
    const auto right_sum = static_cast<std::int64_t>(job.right->sum);
    const auto right_squares = static_cast<std::int64_t>(job.right->squares);
    for (std::int64_t i = 0; i < count; ++i)
      scores[i] = static_cast<float>(score(
          method, WindowTerms<std::int64_t>{
                      n, static_cast<std::int64_t>(products[i]), static_cast<std::int64_t>(sums[i]),
                      static_cast<std::int64_t>(squares[i]), right_sum, right_squares}));
  } else {
    const RightSums right = *job.right;
    const double pixels = static_cast<double>(n), product_error = job.product_error;
    for (std::int64_t i = 0; i < count; ++i)
      scores[i] = static_cast<float>(
          centred_score(method, pixels, products[i], static_cast<double>(sums[i]),
                        static_cast<double>(squares[i]), right, product_error));
  }
}

template <Method method>
void run_method(const Job& job) {
  const MatchProblem& problem = *job.problem;
  if (problem.correlate.type == ElementType::f32)
    run_as<method, float, double, double>(job);
  else if (problem.products == ElementType::f32)
    run_as<method, float, std::uint32_t, std::uint64_t>(job);
  else if (problem.products == ElementType::u64)
    run_as<method, std::uint64_t, std::uint32_t, std::uint64_t>(job);
  else
    run_as<method, std::uint32_t, std::uint32_t, std::uint64_t>(job);
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

Status launch(const MatchProblem& problem, const Device&, const Buffers& buffers, PlanState*) {
  const std::int64_t area = problem.correlate.shifts.size().area();
  constexpr std::int64_t piece = 16384;
  const std::int64_t pieces = ceil_div(area, piece);
  const double product_error = buffers.product_error ? *buffers.product_error : 0.0;
  tbb::parallel_for(std::int64_t{0}, pieces * buffers.right_count, [&](std::int64_t index) {
    const std::int64_t r = index / pieces, first = index % pieces * piece;
    const std::size_t element = size_of(problem.products);
    HWY_DYNAMIC_DISPATCH(run)
    ({&problem, static_cast<const std::byte*>(buffers.products) + r * area * element,
      buffers.window_sums, buffers.window_squares, buffers.scores + r * area,
      &buffers.right_sums[buffers.first_right + r], product_error, first,
      std::min(piece, area - first)});
  });
  return {};
}

constexpr Variant variants[] = {
    {"normalise", Stage::normalise, Backend::cpu, true, supports_match, no_workspace, launch},
};

}  // namespace normalise

Family normalise_family() { return normalise::variants; }

}  // namespace xcorr::cpu
#endif
