// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/match/place_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/common/byte_pairs-inl.hpp"
#include "cpu/match/place_sums.hpp"

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::place_sums_of::HWY_NAMESPACE {
using byte_pairs::HWY_NAMESPACE::BytePairs;

PlaceSums run(const Matrix<std::uint8_t>& left, const Matrix<std::uint8_t>& right) {
  using Op = BytePairs;
  const auto ones = Op::broadcast(Op::Cell{1} | Op::Cell{1} << 16);
  auto product = Op::zero(), left_sum = Op::zero(), left_squares = Op::zero(),
       right_sum = Op::zero(), right_squares = Op::zero();
  const auto add = [&](auto f, auto t) HWY_ATTR {
    Op::add(product, f, t);
    Op::add(left_sum, f, ones);
    Op::add(left_squares, f, f);
    Op::add(right_sum, t, ones);
    Op::add(right_squares, t, t);
  };
  const int width = right.size.width, whole = width - width % Op::pixels;
  for (int y = 0; y < right.size.height; ++y) {
    const std::uint8_t *f = left.row(y), *t = right.row(y);
    for (int x = 0; x < whole; x += Op::pixels) add(Op::load_pixels(f + x), Op::load_pixels(t + x));
    if (whole < width)
      add(Op::load_first_pixels(f + whole, width - whole),
          Op::load_first_pixels(t + whole, width - whole));
  }
  return {Op::total(product), Op::total(left_sum), Op::total(left_squares), Op::total(right_sum),
          Op::total(right_squares)};
}

}  // namespace xcorr::cpu::place_sums_of::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace place_sums_of {
HWY_EXPORT(run);
}

PlaceSums place_sums(const Matrix<std::uint8_t>& left, const Matrix<std::uint8_t>& right) {
  using namespace place_sums_of;
  return HWY_DYNAMIC_DISPATCH(run)(left, right);
}

}  // namespace xcorr::cpu
#endif
