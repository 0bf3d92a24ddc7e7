// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Scores from products and window sums, one thread per shift for several templates of the launch:
// what depends on the window alone is read and computed once for them, unless each has windows of
// its own. Exact products give the double quotient of score.hpp, rounded to float; floating-point
// products of ccoeff-normed are multiplied by float reciprocals of the norms, whose rounding is
// below the products' own error.
#include "cuda/common/launch.cuh"
#include "stages/match/normalise.hpp"
#include "stages/match/score.hpp"

namespace xcorr::cuda {
namespace {

constexpr int block_size = 256;
constexpr int share = 8;  // templates of a thread

/// The templates of a block, one past the last.
struct Share {
  int first, last;
  __device__ explicit Share(int right_count)
      : first(blockIdx.z * share), last(min(first + share, right_count)) {}
};

/// A shift's position in the surfaces, and its values that all templates share.
struct Place {
  int x, y;
  __device__ Place() : x(blockIdx.x * block_size + threadIdx.x), y(blockIdx.y) {}
  __device__ bool exists(const stage::Normalise::Problem& p) const {
    return x < p.correlate.shifts.width;
  }
  __device__ std::int64_t dense(const stage::Normalise::Problem& p) const {
    return std::int64_t{y} * p.correlate.shifts.width + x;
  }
  __device__ std::int64_t product(const stage::Normalise::Problem& p) const {
    return y * p.products_pitch() + x;
  }
};

/// Any method, any products: the formulas of score.hpp, over the planes of a picture.
template <int planes, class Pixel, class Product, class Sum, class Squares>
__global__ void __launch_bounds__(block_size, 4)
    normalise(stage::Normalise::Problem p, int right_count, const TemplateSums* template_sums,
              const Product* products, const Sum* sums, const Squares* squares, float* scores) {
  using T = TermOf<Pixel>;
  const Place at;
  if (!at.exists(p)) return;
  const std::int64_t n = p.pixels(), shifts = p.correlate.shifts.size().area();
  products += at.product(p);
  scores += at.dense(p);
  // Known when compiled, so that others need no more registers for it.
  constexpr bool on_edges = planes == edge_planes;
  const Method method = on_edges ? Method::orientation : p.method;
  T sum[planes], square[planes];
  const Share rights(right_count);
  for (int r = rights.first; r < rights.last; ++r) {
    if (r == rights.first || p.correlate.own_lefts) {
      const std::int64_t first = first_window(p.correlate, r) + at.dense(p);
#pragma unroll
      for (int c = 0; c < planes; ++c) {
        sum[c] = static_cast<T>(sums[c * windows_of(p.correlate) + first]);
        // Of edges there may be none.
        square[c] = on_edges ? 0 : static_cast<T>(squares[c * windows_of(p.correlate) + first]);
      }
    }
    const auto terms = [&](int c) {
      const TemplateSums right = template_sums[std::int64_t{c} * p.correlate.rights + r];
      const Product product = products[c * p.product_plane() + r * p.products_stride()];
      if constexpr (std::is_integral_v<Product>) {
        const WindowTerms<T> window{n,
                                    static_cast<T>(product),
                                    sum[c],
                                    square[c],
                                    static_cast<std::int64_t>(right.sum),
                                    static_cast<std::int64_t>(right.squares)};
        return ScoreTerms<T>(on_edges ? signed_terms(window) : window);
      } else
        return centred_terms(static_cast<double>(n), product, static_cast<double>(sum[c]),
                             static_cast<double>(square[c]), right);
    };
    auto all = terms(0);
#pragma unroll
    for (int c = 1; c < planes; ++c) all += terms(c);
    double value;
    if constexpr (std::is_integral_v<Product>)
      value = score(method, all);
    else
      value = centred_score(method, all, 0);
    scores[r * shifts] = static_cast<float>(value);
  }
}

/// 1 / sqrt(sum f'^2), that norm taken as at least `floor`; 0 without variance. `inverse_n`: 1 / n.
template <class T>
__device__ float reciprocal_norm(T n, T n2_variance, T squares, float inverse_n, float floor) {
  if (is_flat_variance(n2_variance, n * squares)) return 0;
  return rsqrtf(fmaxf(static_cast<float>(n2_variance) * inverse_n, floor * floor));
}

/// ccoeff-normed of centred floating-point products: centred_quotient() of score.hpp in float.
template <class Pixel, class Sum, class Squares>
__global__ void __launch_bounds__(block_size, 4)
    normalise_centred(stage::Normalise::Problem p, float inverse_n, int right_count,
                      const TemplateSums* template_sums, const float* products, const Sum* sums,
                      const Squares* squares, const float* product_error, float* scores) {
  using T = TermOf<Pixel>;
  const Place at;
  if (!at.exists(p)) return;
  const std::int64_t shifts = p.correlate.shifts.size().area();
  products += at.product(p);
  scores += at.dense(p);
  const T n = static_cast<T>(p.pixels());
  const T sum = static_cast<T>(sums[at.dense(p)]), square = static_cast<T>(squares[at.dense(p)]);
  const float floor = (product_error ? *product_error : 0) * static_cast<float>(1 / noise_share);
  const float window =
      reciprocal_norm(n, n2_covariance(n, square, sum, sum), square, inverse_n, floor);
  const Share rights(right_count);
#pragma unroll 4
  for (int r = rights.first; r < rights.last; ++r) {
    const float norm = reciprocal_norm(static_cast<double>(n), template_sums[r].n2_variance,
                                       template_sums[r].squares, inverse_n, 0);
    const float value = products[r * p.products_stride()] * window * norm;
    scores[r * shifts] = fminf(fmaxf(value, -1.0f), 1.0f);
  }
}

template <class Pixel, class Product, class Sum, class Squares>
Status launch_as(const stage::Normalise::Problem& p, const stage::Normalise::Buffers& b) {
  const Rect area = p.correlate.shifts;
  const dim3 grid(ceil_div(area.width, block_size), area.height, ceil_div(b.right_count, share));
  const TemplateSums* template_sums = b.template_sums + b.first_right;
  const auto* products = static_cast<const Product*>(b.products);
  const std::int64_t window = first_window(p.correlate, b.first_right);
  const auto* sums = static_cast<const Sum*>(b.window_sums) + window;
  const auto* squares = static_cast<const Squares*>(b.window_squares) + window;
  if constexpr (std::is_same_v<Product, float>) {
    if (p.method == Method::ccoeff_normed && p.correlate.planes == 1) {
      const float inverse_n = 1.0f / static_cast<float>(p.pixels());
      return enqueue("normalise_centred", normalise_centred<Pixel, Sum, Squares>, grid, block_size,
                     0, b.stream, p, inverse_n, b.right_count, template_sums, products, sums,
                     squares, b.product_error, b.scores);
    }
  }
  auto kernel = p.correlate.planes == 1 ? normalise<1, Pixel, Product, Sum, Squares>
                                        : normalise<color_planes, Pixel, Product, Sum, Squares>;
  if constexpr (std::is_same_v<Pixel, std::uint8_t> && std::is_integral_v<Product>)
    if (p.method == Method::orientation)
      kernel = normalise<edge_planes, Pixel, Product, Sum, Squares>;
  return enqueue("normalise", kernel, grid, block_size, 0, b.stream, p, b.right_count,
                 template_sums, products, sums, squares, b.scores);
}

Status launch(const stage::Normalise::Problem& p, const Device&, const stage::Normalise::Buffers& b,
              PlanState*) {
  using u8 = std::uint8_t;
  using u32 = std::uint32_t;
  using u64 = unsigned long long;
  if (p.correlate.type == ElementType::f32) return launch_as<float, float, double, double>(p, b);
  if (p.correlate.type == ElementType::u16) return launch_as<std::uint16_t, u64, u64, u64>(p, b);
  const bool centred = p.products == ElementType::f32;
  if (p.correlate.output_type() == ElementType::u64)
    return centred ? launch_as<u8, float, u32, u64>(p, b) : launch_as<u8, u64, u32, u64>(p, b);
  return centred ? launch_as<u8, float, u32, u32>(p, b) : launch_as<u8, u32, u32, u32>(p, b);
}

bool supports(const stage::Normalise::Problem& p, const Device&) {
  return p.correlate.shifts.height <= 65535 && can_be_scored(p) &&
         !(p.correlate.own_lefts && p.products == ElementType::f32);
}

constexpr Variant<stage::Normalise> table[] = {
    {{.name = "normalise",
      .backend = Backend::cuda,
      .features = match_features |
                  Features(Feature::float_products, Feature::pitched_output, Feature::own_lefts)},
     {.supports = supports, .launch = launch}},
};

}  // namespace

Family normalise_family() { return Family(table); }

}  // namespace xcorr::cuda
