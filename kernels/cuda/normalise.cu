// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Scores from products and window sums, a thread a few shifts, for all rights of the launch: what
// depends on the window alone is read and computed once. Exact products give the double quotient
// of score.hpp, rounded to float; floating-point products of ccoeff-normed are multiplied by float
// reciprocals of the norms, whose rounding their own error hides.
#include "../score.hpp"
#include "launch.cuh"

namespace xcorr::cuda {
namespace {

constexpr int block_size = 256;
constexpr int rows = 4;  // of a thread, one below the other: several loads in flight

/// 1 / sqrt(sum f'^2), that norm taken as at least `floor`; 0 without variance.
template <class T>
__device__ float reciprocal_norm(T n, T deviation, T squares, float floor) {
  if (is_flat_variance(deviation, n * squares)) return 0;
  return rsqrtf(fmaxf(static_cast<float>(deviation) / static_cast<float>(n), floor * floor));
}

template <class Product, class Sum, class Squares>
__global__ void __launch_bounds__(block_size)
    normalise(MatchProblem p, int first_right, int right_count, const RightSums* right_sums,
              const Product* products, const Sum* sums, const Squares* squares,
              const float* product_error, float* scores) {
  // Integers while the input is u8, doubles else.
  using T = std::conditional_t<std::is_integral_v<Sum>, std::int64_t, double>;
  const Rect area = p.correlate.shifts;
  const int x = blockIdx.x * block_size + threadIdx.x, y = blockIdx.y * rows;
  const int height = min(rows, area.height - y);
  if (x >= area.width) return;
  const double pixels = static_cast<double>(p.correlate.right.area());
  const T n = static_cast<T>(pixels);
  const float error = product_error ? *product_error : 0;

  const std::int64_t place = std::int64_t{y} * area.width + x;
  products += y * p.products_pitch() + x;
  scores += place;
  T sum[rows] = {}, square[rows] = {};
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    if (i >= height) break;
    sum[i] = static_cast<T>(sums[place + i * area.width]);
    square[i] = static_cast<T>(squares[place + i * area.width]);
  }
  // score_of(right, row, product), a float, for every place of every right.
  const auto for_each = [&](auto score_of) {
    for (int r = 0; r < right_count; ++r) {
      const RightSums right = right_sums[first_right + r];
      const Product* from = products + r * p.products_stride();
      float* to = scores + r * area.size().area();
      Product product[rows] = {};
#pragma unroll
      for (int i = 0; i < rows; ++i)
        if (i < height) product[i] = from[i * p.products_pitch()];
#pragma unroll
      for (int i = 0; i < rows; ++i)
        if (i < height) to[i * area.width] = static_cast<float>(score_of(right, i, product[i]));
    }
  };

  if constexpr (std::is_integral_v<Product>) {
    for_each([&](const RightSums& right, int i, Product product) {
      return score(p.method,
                   WindowTerms<T>{n, static_cast<T>(product), sum[i], square[i],
                                  static_cast<T>(right.sum), static_cast<T>(right.squares)});
    });
  } else if (p.method == Method::ccoeff_normed) {
    // As centred_quotient() of score.hpp.
    const float floor = error / static_cast<float>(noise_share);
    float window[rows];
#pragma unroll
    for (int i = 0; i < rows; ++i)
      window[i] = reciprocal_norm(n, deviation(n, square[i], sum[i], sum[i]), square[i], floor);
    for_each([&](const RightSums& right, int i, float product) {
      const float norm = reciprocal_norm(pixels, right.deviation, right.squares, 0);
      return fminf(fmaxf(product * window[i] * norm, -1.0f), 1.0f);
    });
  } else {
    for_each([&](const RightSums& right, int i, float product) {
      return centred_score(p.method, pixels, product, static_cast<double>(sum[i]),
                           static_cast<double>(square[i]), right, error);
    });
  }
}

template <class Product, class Sum, class Squares>
Status launch_as(const MatchProblem& p, const Buffers& b) {
  const Rect area = p.correlate.shifts;
  normalise<Product, Sum, Squares>
      <<<dim3(ceil_div(area.width, block_size), ceil_div(area.height, rows)), block_size, 0, native(b.stream)>>>(
          p, b.first_right, b.right_count, b.right_sums, static_cast<const Product*>(b.products),
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

bool supports(const MatchProblem& p, const Device& device) {
  return supports_matching(p, device) && p.correlate.shifts.height <= 65535LL * rows;
}

constexpr Variant table[] = {
    {"normalise", Stage::normalise, Backend::cuda, true, supports, no_workspace, launch},
};

}  // namespace

Family normalise_family() { return table; }

}  // namespace xcorr::cuda
