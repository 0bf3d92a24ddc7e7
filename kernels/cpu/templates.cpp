// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is made of templates when they are new or take up a part of a frame: their sums and, for
// floating point, their pixels less the mean; and the running averages themselves. Templates are
// few and small against frames: one after the other will do.
#include "cpu/common.hpp"
#include "stages/blend.hpp"

namespace xcorr::cpu {
namespace {

/// Calls f for each pixel, row by row.
template <class T, class F>
void for_pixels(const Matrix<T>& m, F f) {
  for (int y = 0; y < m.size.height; ++y)
    for (int x = 0; x < m.size.width; ++x) f(m.row(y)[x]);
}

RightSums sums_of(const Matrix<std::uint8_t>& right) {
  std::int64_t sum = 0, squares = 0;
  for_pixels(right, [&](std::int64_t v) {
    sum += v;
    squares += v * v;
  });
  return {double(sum), double(squares), double(right.size.area() * squares - sum * sum)};
}

RightSums sums_of(const Matrix<float>& right) {
  RightSums sums;
  for_pixels(right, [&](double v) {
    sums.sum += v;
    sums.squares += v * v;
  });
  const double n = double(right.size.area()), mean = sums.sum / n;
  for_pixels(right, [&](double v) { sums.deviation += (v - mean) * (v - mean); });
  sums.deviation *= n;
  return sums;
}

/// The pixels less their mean, laid out like them.
void centre(const Matrix<float>& right, const RightSums& sums, std::byte* out) {
  const double mean = sums.sum / double(right.size.area());
  for (int y = 0; y < right.size.height; ++y)
    std::transform(right.row(y), right.row(y) + right.size.width,
                   reinterpret_cast<float*>(out + y * right.pitch),
                   [mean](float v) { return static_cast<float>(v - mean); });
}

Status right_sums(const MatchProblem& problem, const Device&, const Buffers& b, PlanState*) {
  const Problem& p = problem.correlate;
  for (int r = b.first_right; r < b.first_right + b.right_count; ++r) {
    if (p.type == ElementType::u8) {
      b.right_sums[r] = sums_of(right_of<std::uint8_t>(p, b.templates, r));
      continue;
    }
    const auto right = right_of<float>(p, b.templates, r);
    b.right_sums[r] = sums_of(right);
    centre(right, b.right_sums[r], static_cast<std::byte*>(b.centred) + r * p.right_stride);
  }
  return {};
}

template <class T>
void blend_as(const MatchProblem& problem, const Buffers& b, std::int64_t r) {
  const Problem& p = problem.correlate;
  const auto left = left_of<T>(p, b.lefts, 0);
  std::int64_t at = r * p.right.area();
  for (int y = 0; y < p.right.height; ++y) {
    const T* patch = left.row(p.shifts.y + y) + p.shifts.x;
    for (int x = 0; x < p.right.width; ++x, ++at) {
      b.next_averages[at] = blended_average(b.averages[at], patch[x], problem.weight);
      static_cast<T*>(b.blended)[at] = pixel_of<T>(b.next_averages[at]);
    }
  }
}

Status blend(const MatchProblem& problem, const Device&, const Buffers& b, PlanState*) {
  const auto one =
      problem.correlate.type == ElementType::u8 ? blend_as<std::uint8_t> : blend_as<float>;
  for (int r = b.first_right; r < b.first_right + b.right_count; ++r) one(problem, b, r);
  return {};
}

constexpr Variant variants[] = {
    {"right_sums", Stage::right_sums, Backend::cpu, true, supports_match, no_workspace, right_sums},
    {"blend", Stage::blend, Backend::cpu, true, supports_match, no_workspace, blend},
};

}  // namespace

Family templates_family() { return variants; }

}  // namespace xcorr::cpu
