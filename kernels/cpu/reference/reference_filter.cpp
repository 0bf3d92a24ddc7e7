// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of the filter stage: the convolution with all weights of the plane at once, in plain
// loops. Double holds the sums of u8 pictures exactly; the others are made in long double.
#include <algorithm>
#include <cmath>

#include "cpu/reference/reference_methods.hpp"
#include "stages/variant.hpp"

namespace xcorr::cpu {
namespace {

using namespace plain;

template <class T>
long double filtered_at(const Matrix<T>& picture, const FilterWeights& weights, int x, int y) {
  const AxisWeights &across = weights.across, &down = weights.down;
  long double sum = 0;
  for (int j = -down.radius; j <= down.radius; ++j)
    for (int i = -across.radius; i <= across.radius; ++i) {
      const int from_x = std::clamp(x - i, 0, picture.size.width - 1);
      const int from_y = std::clamp(y - j, 0, picture.size.height - 1);
      sum += static_cast<long double>(down.values[down.radius + j]) *
             across.values[across.radius + i] * picture.at(from_x, from_y);
    }
  return sum;
}

template <class T>
T stored(long double sum) {
  if constexpr (std::is_same_v<T, std::uint8_t>)
    return static_cast<T>(std::clamp(std::floor(sum + 0.5L), 0.0L, 255.0L));
  else
    return static_cast<T>(sum);
}

template <class T>
void filter_as(const MatchProblem& problem, const Buffers& b) {
  const Problem& p = problem.correlate;
  for (int l = 0; l < p.lefts; ++l) {
    const auto picture = left_of<T>(p, b.lefts, l);
    T* out = static_cast<T*>(b.filtered) + l * problem.products_stride();
    for (int y = 0; y < p.shifts.height; ++y)
      for (int x = 0; x < p.shifts.width; ++x)
        out[y * problem.products_pitch() + x] =
            stored<T>(filtered_at(picture, *problem.filter, p.shifts.x + x, p.shifts.y + y));
  }
}

Status filter(const MatchProblem& problem, const Device&, const Buffers& b, PlanState*) {
  if (problem.correlate.type == ElementType::u8)
    filter_as<std::uint8_t>(problem, b);
  else if (problem.correlate.type == ElementType::f32)
    filter_as<float>(problem, b);
  else
    filter_as<double>(problem, b);
  return {};
}

bool supports(const MatchProblem& problem, const Device&) { return problem.filter; }

std::size_t no_workspace(const MatchProblem&, const Device&) { return 0; }

constexpr Variant variants[] = {
    {"reference", Stage::filter, Backend::cpu, true, supports, no_workspace, filter},
};

}  // namespace

Family reference_filter_family() { return variants; }

}  // namespace xcorr::cpu
