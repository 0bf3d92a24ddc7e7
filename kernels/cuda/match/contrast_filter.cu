// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Scores after the contrast test, one thread per shift for all templates of the launch: what a
// window lacks is found out once.
#include "cuda/common/launch.cuh"
#include "stages/match/contrast_filter.hpp"
#include "stages/match/score.hpp"

namespace xcorr::cuda {
namespace {

constexpr int block_size = 256;

/// \param T  as in WindowTerms
template <class T, class Sum, class Squares>
__global__ void __launch_bounds__(block_size)
    contrast_filter(stage::ContrastFilter::Problem p, bool minimum, int right_count,
                    const float* scores, const Sum* sums, const Squares* squares,
                    float* contrast_filtered) {
  const Rect area = p.correlate.shifts;
  const int x = blockIdx.x * block_size + threadIdx.x;
  if (x >= area.width) return;
  const std::int64_t at = std::int64_t{blockIdx.y} * area.width + x;
  bool is_none = false;
  if (p.contrast.least > 0) {
    const auto n = static_cast<T>(p.pixels());
    T variance = 0;
    for (int c = 0; c < p.correlate.planes; ++c) {
      const std::int64_t window = c * windows_of(p.correlate) + at;
      const auto sum = static_cast<T>(sums[window]);
      variance += n2_covariance(n, static_cast<T>(squares[window]), sum, sum);
    }
    is_none = lacks_contrast(n, variance, p.correlate.planes, p.contrast.least);
  }
#pragma unroll 4
  for (int r = 0; r < right_count; ++r) {
    const std::int64_t place = r * area.size().area() + at;
    contrast_filtered[place] =
        is_none ? no_match(minimum) : oriented(p.contrast.polarity, scores[place]);
  }
}

template <class T, class Sum, class Squares>
Status launch_as(const stage::ContrastFilter::Problem& p, const stage::ContrastFilter::Buffers& b) {
  const Rect area = p.correlate.shifts;
  return enqueue("contrast_filter", contrast_filter<T, Sum, Squares>,
                 dim3(ceil_div(area.width, block_size), area.height), block_size, 0, b.stream, p,
                 info(p.method).minimum, b.right_count, b.scores,
                 static_cast<const Sum*>(b.window_sums),
                 static_cast<const Squares*>(b.window_squares), b.contrast_filtered);
}

Status launch(const stage::ContrastFilter::Problem& p, const Device&,
              const stage::ContrastFilter::Buffers& b, PlanState*) {
  using u32 = std::uint32_t;
  using u64 = unsigned long long;
  if (p.correlate.type == ElementType::f32) return launch_as<double, double, double>(p, b);
  if (p.correlate.type == ElementType::u16) return launch_as<Int128, u64, u64>(p, b);
  return p.correlate.output_type() == ElementType::u64 ? launch_as<std::int64_t, u32, u64>(p, b)
                                                       : launch_as<std::int64_t, u32, u32>(p, b);
}

bool supports(const stage::ContrastFilter::Problem& p, const Device&) {
  return p.correlate.shifts.height <= 65535;
}

constexpr Variant<stage::ContrastFilter> table[] = {
    {{.name = "contrast_filter", .backend = Backend::cuda, .features = match_features},
     {.supports = supports, .launch = launch}},
};

}  // namespace

Family contrast_filter_family() { return Family(table); }

}  // namespace xcorr::cuda
