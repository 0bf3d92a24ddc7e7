// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Element types as kernels see them. An Element names the types in memory (In), in a thread (Value:
// also in shuffles and shared memory), of the sum of products of one row of the right (Row), and of
// the result (Out).
#pragma once

#include <cstddef>
#include <cstdint>

#include <xcorr/correlate.hpp>

namespace xcorr::cuda {

template <class InType, class ValueType, class RowType, class OutType>
struct Element {
  using In = InType;
  using Value = ValueType;
  using Row = RowType;
  using Out = OutType;
};

/// The largest u8 right whose products fit Row.
constexpr std::int64_t widest_u8_row = 66051;

/// Exact while Problem::output_type() says u32.
using ElementU8 = Element<std::uint8_t, std::uint32_t, std::uint32_t, std::uint32_t>;
/// Exact while a row of the right has at most widest_u8_row elements.
using ElementU8Wide = Element<std::uint8_t, std::uint32_t, std::uint32_t, unsigned long long>;
/// Exact for rights of up to max_u16_pixels.
using ElementU16 = Element<std::uint16_t, std::uint32_t, unsigned long long, unsigned long long>;
using ElementI32 = Element<std::int32_t, std::int32_t, long long, long long>;
using ElementF32 = Element<float, float, float, float>;
using ElementF64 = Element<double, double, double, double>;

/// Calls f.operator()<E>() with the Element of a problem of plain sums, for families that keep
/// their sums in one type from the first product to the last (see supports_narrow).
template <class F>
auto with_narrow_element(const Problem& p, F f) {
  switch (p.type) {
    case ElementType::u8:
      return f.template operator()<ElementU8>();
    case ElementType::i32:
      return f.template operator()<ElementI32>();
    case ElementType::f64:
      return f.template operator()<ElementF64>();
    default:
      return f.template operator()<ElementF32>();
  }
}

/// The same for families that sum each row first (see supports_definition).
template <class F>
auto with_element(const Problem& p, F f) {
  if (p.output_type() == ElementType::u64) return f.template operator()<ElementU8Wide>();
  return with_narrow_element(p, f);
}

}  // namespace xcorr::cuda
