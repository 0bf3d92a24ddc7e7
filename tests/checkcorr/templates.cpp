// SPDX-License-Identifier: LGPL-2.1-or-later
#include "templates.hpp"

#include <cfloat>
#include <cmath>

#include "cpu/reference/reference_methods.hpp"

namespace checkcorr {
namespace {

using xcorr::RightSums;
using xcorr::cpu::plain::left_of;
using xcorr::cpu::plain::right_of;

/// Calls visit(index, right, x, y) for each pixel of the rights, `index` counting them.
template <class Visit>
void for_each_pixel(const Problem& p, Visit visit) {
  std::size_t index = 0;
  for (std::int64_t r = 0; r < p.total_rights(); ++r)
    for (int y = 0; y < p.right.height; ++y)
      for (int x = 0; x < p.right.width; ++x) visit(index++, r, x, y);
}

auto named(Role role, std::int64_t right, int x, int y) {
  return [=] {
    return std::string(name_of(role)) + " (right " + std::to_string(right) + ", x " +
           std::to_string(x) + ", y " + std::to_string(y) + ")";
  };
}

const std::byte* data_of(const Values& values, Role role) {
  return values[static_cast<std::size_t>(role)].data();
}

template <class T>
void compare_blended_as(Comparison& comparison, const Truth& t, const Values& got) {
  const Problem& p = t.problem.correlate;
  const auto left = left_of<T>(p, data_of(t.values, Role::lefts), 0);
  const auto averages = view<float>(t.values, Role::averages);
  const auto next = view<float>(got, Role::next_averages);
  const auto blended = view<T>(got, Role::blended);
  for_each_pixel(p, [&](std::size_t i, std::int64_t r, int x, int y) {
    const float pixel = left.at(p.shifts.x + x, p.shifts.y + y);
    const float expected = std::fma(t.problem.weight, pixel - averages[i], averages[i]);
    comparison.value(named(Role::next_averages, r, x, y), expected, next[i], 0);
    const T rounded = sizeof(T) == 1 ? static_cast<T>(std::lrint(expected)) : T(expected);
    comparison.value(named(Role::blended, r, x, y), rounded, blended[i], 0);
  });
}

/// f32: less their mean, which may be a rounding of doubles off.
void compare_centred(Comparison& comparison, const Truth& t, const Values& got) {
  const Problem& p = t.problem.correlate;
  for_each_pixel(p, [&](std::size_t, std::int64_t r, int x, int y) {
    const float expected = right_of<float>(p, data_of(t.values, Role::rights), r).at(x, y);
    const float actual = right_of<float>(p, data_of(got, Role::centred), r).at(x, y);
    comparison.value(named(Role::centred, r, x, y), expected, actual,
                     2 * FLT_EPSILON * std::abs(expected) + 1e-9);
  });
}

}  // namespace

void compare_right_sums(Comparison& comparison, const Truth& t, const Values& got) {
  const bool exact = t.problem.correlate.type == ElementType::u8;
  const double n = static_cast<double>(t.problem.correlate.right.area());
  const auto expected = view<RightSums>(t.values, Role::right_sums);
  const auto actual = view<RightSums>(got, Role::right_sums);
  for (std::size_t r = 0; r < expected.size(); ++r) {
    const RightSums &e = expected[r], &a = actual[r];
    const double rounding = exact ? 0 : n * DBL_EPSILON;
    const auto sum = [&](const char* member, double should, double is, double magnitude) {
      const auto place = [&] { return "right_sums[" + std::to_string(r) + "]." + member; };
      comparison.value(place, should, is, rounding * magnitude);
    };
    sum("sum", e.sum, a.sum, std::sqrt(n * e.squares));
    sum("squares", e.squares, a.squares, e.squares);
    sum("deviation", e.deviation, a.deviation, n * e.squares);
  }
  if (!exact) compare_centred(comparison, t, got);
}

void compare_blended(Comparison& comparison, const Truth& t, const Values& got) {
  if (t.problem.correlate.type == ElementType::u8)
    compare_blended_as<std::uint8_t>(comparison, t, got);
  else
    compare_blended_as<float>(comparison, t, got);
}

}  // namespace checkcorr
