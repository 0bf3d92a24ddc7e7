// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The luma of a row of packed pixels, on vectors of bytes, once for each of Highway's targets.
#if defined(XCORR_CPU_LUMA_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef XCORR_CPU_LUMA_INL
#undef XCORR_CPU_LUMA_INL
#else
#define XCORR_CPU_LUMA_INL
#endif

#include <cstdint>

#include "stages/image/luma.hpp"

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::luma::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::ScalableTag<std::uint8_t>;
using Words = hn::Repartition<std::uint16_t, Bytes>;
using ByteVector = hn::Vec<Bytes>;

/// The byte at each place of as many pixels as a vector has lanes.
template <int bytes>
HWY_INLINE void load(const std::uint8_t* from, ByteVector (&parts)[bytes]) {
  const Bytes d;
  if constexpr (bytes == 1)
    parts[0] = hn::LoadU(d, from);
  else if constexpr (bytes == 2)
    hn::LoadInterleaved2(d, from, parts[0], parts[1]);
  else if constexpr (bytes == 3)
    hn::LoadInterleaved3(d, from, parts[0], parts[1], parts[2]);
  else
    hn::LoadInterleaved4(d, from, parts[0], parts[1], parts[2], parts[3]);
}

/// Bytes of even and of odd pixels are words of their own: 255 * 256 + 128 fits into one.
template <int bytes>
void convert(const PixelLayout& layout, const std::uint8_t* from, int count, std::uint8_t* to) {
  int x = 0;
#if HWY_TARGET != HWY_SCALAR
  const Bytes d;
  const Words words;
  const auto low = hn::Set(words, std::uint16_t{0xff});
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (; x + lanes <= count; x += lanes) {
    ByteVector parts[bytes];
    load(from + x * bytes, parts);
    auto even = hn::Set(words, std::uint16_t{128}), odd = even;
    for (int i = 0; i < bytes; ++i) {
      const auto weight = hn::Set(words, static_cast<std::uint16_t>(layout.weights[i]));
      const auto both = hn::BitCast(words, parts[i]);
      even = hn::Add(even, hn::Mul(hn::And(both, low), weight));
      odd = hn::Add(odd, hn::Mul(hn::ShiftRight<8>(both), weight));
    }
    const auto lumas = hn::Or(hn::ShiftRight<8>(even), hn::AndNot(low, odd));
    hn::StoreU(hn::BitCast(d, lumas), d, to + x);
  }
#endif
  for (; x < count; ++x) to[x] = luma_of<bytes>(layout, from + x * bytes);
}

inline void convert_row(const PixelLayout& layout, const std::uint8_t* from, int count,
                        std::uint8_t* to) {
  constexpr void (*of_bytes[])(const PixelLayout&, const std::uint8_t*, int, std::uint8_t*) = {
      convert<1>, convert<2>, convert<3>, convert<4>};
  of_bytes[layout.bytes - 1](layout, from, count, to);
}

}  // namespace xcorr::cpu::luma::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
