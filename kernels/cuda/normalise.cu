// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Scores from products and window sums, one thread a shift, for all rights of the launch: what
// depends on the window alone is read and computed once. Exact products give the double quotient
// of score.hpp, rounded to float; floating-point products of ccoeff-normed take a float quotient,
// which their own error hides.
#include "../score.hpp"
#include "launch.cuh"

namespace xcorr::cuda {
namespace {

constexpr int block_size = 256;

template <class Product, class Sum, class Squares>
__global__ void __launch_bounds__(block_size)
    normalise(Method method, std::int64_t shifts, double pixels, int first_right, int right_count,
              const RightSums* right_sums, const Product* products, const Sum* sums,
              const Squares* squares, const float* product_error, float* scores) {
  const std::int64_t i = std::int64_t{blockIdx.x} * block_size + threadIdx.x;
  if (i >= shifts) return;
  // Integers while the input is u8, doubles else.
  using T = std::conditional_t<std::is_integral_v<Sum>, std::int64_t, double>;
  const T n = static_cast<T>(pixels), sum = static_cast<T>(sums[i]),
          square = static_cast<T>(squares[i]);
  const float error = product_error ? *product_error : 0;

  if constexpr (std::is_integral_v<Product>) {
    for (int r = 0; r < right_count; ++r) {
      const RightSums right = right_sums[first_right + r];
      const std::int64_t place = r * shifts + i;
      scores[place] = static_cast<float>(
          score(method, WindowTerms<T>{n, static_cast<T>(products[place]), sum, square,
                                       static_cast<T>(right.sum), static_cast<T>(right.squares)}));
    }
  } else if (method == Method::ccoeff_normed) {
    const auto window = window_norm<float>(n, sum, square);
    for (int r = 0; r < right_count; ++r) {
      const auto norm = static_cast<float>(right_norm(pixels, right_sums[first_right + r]));
      scores[r * shifts + i] = centred_quotient(products[r * shifts + i], window, norm, error);
    }
  } else {
    for (int r = 0; r < right_count; ++r)
      scores[r * shifts + i] = static_cast<float>(centred_score(
          method, pixels, products[r * shifts + i], static_cast<double>(sum),
          static_cast<double>(square), right_sums[first_right + r], error));
  }
}

template <class Product, class Sum, class Squares>
Status launch_as(const MatchProblem& p, const Buffers& b) {
  const std::int64_t shifts = p.correlate.shifts.size().area();
  normalise<Product, Sum, Squares>
      <<<static_cast<unsigned>(ceil_div(shifts, block_size)), block_size, 0, native(b.stream)>>>(
          p.method, shifts, static_cast<double>(p.correlate.right.area()), b.first_right,
          b.right_count, b.right_sums, static_cast<const Product*>(b.products),
          static_cast<const Sum*>(b.window_sums), static_cast<const Squares*>(b.window_squares),
          b.product_error, b.scores);
  return launched("normalise");
}

Status launch(const MatchProblem& p, const Device&, const Buffers& b, PlanState*) {
  using u32 = std::uint32_t;
  using u64 = unsigned long long;
  if (p.correlate.type != ElementType::u8) return launch_as<float, double, double>(p, b);
  switch (p.products) {
    case ElementType::u32: return launch_as<u32, u32, u64>(p, b);
    case ElementType::u64: return launch_as<u64, u32, u64>(p, b);
    default: return launch_as<float, u32, u64>(p, b);
  }
}

constexpr Variant table[] = {
    {"normalise", Stage::normalise, Backend::cuda, true, supports_matching, no_workspace, launch},
};

}  // namespace

Family normalise_family() { return table; }

}  // namespace xcorr::cuda
