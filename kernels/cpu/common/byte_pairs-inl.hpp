// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sums of products of bytes, exact, by instructions that multiply and add pairs of 16 bits.
// Included once for each of Highway's targets.
#if defined(XCORR_CPU_BYTE_PAIRS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef XCORR_CPU_BYTE_PAIRS_INL_HPP
#undef XCORR_CPU_BYTE_PAIRS_INL_HPP
#else
#define XCORR_CPU_BYTE_PAIRS_INL_HPP
#endif

#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::byte_pairs::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// 8-bit pixels. A cell is a pixel and its right neighbour as 16-bit halves: the products of two
/// taps are added in one instruction, which takes them as signed. Sums are modulo 2^32, which a
/// block's sum never reaches.
struct BytePairs {
  using Pixel = std::uint8_t;
  using Cell = std::uint32_t;
  using D = hn::ScalableTag<std::int32_t>;
  using V = hn::Vec<D>;
  static constexpr int taps = 2;
  static constexpr Pixel outside = 0;

  static Cell cell(const Pixel* p) { return p[0] | Cell{p[1]} << 16; }

  struct Accumulator {
    V low, high;  ///< high stays zero where the instruction set needs only one
  };
  static HWY_INLINE Accumulator zero() { return {hn::Zero(D()), hn::Zero(D())}; }
  static HWY_INLINE V load(const Cell* p) {
    return hn::LoadU(D(), reinterpret_cast<const std::int32_t*>(p));
  }
  /// Those of a vector's pixels, the last one's right neighbour included.
  static HWY_INLINE V cells(const Pixel* p) {
    const hn::Rebind<Pixel, D> d8;
    return hn::Or(hn::PromoteTo(D(), hn::LoadU(d8, p)),
                  hn::ShiftLeft<16>(hn::PromoteTo(D(), hn::LoadU(d8, p + 1))));
  }
  static HWY_INLINE void store(V cells, Cell* p) {
    hn::StoreU(cells, D(), reinterpret_cast<std::int32_t*>(p));
  }
  /// Cells of small numbers with a sign, such as sums and differences of pixels.
  static HWY_INLINE V load(const std::int16_t* halves) {
#if HWY_TARGET == HWY_SCALAR
    return broadcast(halves);
#else
    return hn::BitCast(D(), hn::LoadU(hn::Repartition<std::int16_t, D>(), halves));
#endif
  }
  /// The same, which stays in a register: a compiler that knows that it can read memory once more
  /// for each use does so, and reads that cross cache lines take as long as the products.
  static HWY_INLINE V load_once(const std::int16_t* halves) {
    V cells = load(halves);
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
    asm("" : "+v"(cells.raw));
#endif
    return cells;
  }
  static constexpr int pixels = 2 * hn::MaxLanes(D());  ///< that a vector has room for
  static HWY_INLINE V load_pixels(const Pixel* p) {
#if HWY_TARGET == HWY_SCALAR
    return broadcast(cell(p));
#else
    const hn::Repartition<std::int16_t, D> d16;
    const hn::Rebind<Pixel, decltype(d16)> d8;
    return hn::BitCast(D(), hn::PromoteTo(d16, hn::LoadU(d8, p)));
#endif
  }
  /// Of `count` pixels, then zeros; what lies behind them is not read.
  static HWY_INLINE V load_first_pixels(const Pixel* p, int count) {
#if HWY_MEM_OPS_MIGHT_FAULT || HWY_TARGET == HWY_SCALAR
    Pixel first[pixels] = {};
    std::memcpy(first, p, static_cast<std::size_t>(count));
    return load_pixels(first);
#else
    const hn::Repartition<std::int16_t, D> d16;
    const hn::Rebind<Pixel, decltype(d16)> d8;
    const auto mask = hn::FirstN(d8, static_cast<std::size_t>(count));
    return hn::BitCast(D(), hn::PromoteTo(d16, hn::MaskedLoad(mask, d8, p)));
#endif
  }
  static HWY_INLINE V broadcast(const std::int16_t* halves) {
    Cell both;
    std::memcpy(&both, halves, sizeof both);
    return broadcast(both);
  }
  static HWY_INLINE V broadcast(Cell c) { return hn::Set(D(), static_cast<std::int32_t>(c)); }
  static HWY_INLINE void add(Accumulator& sum, V left, V tap) {
#if HWY_TARGET == HWY_SCALAR  // a vector of one lane has no halves
    const auto low = [](V v) { return hn::ShiftRight<16>(hn::ShiftLeft<16>(v)); };
    sum.low = hn::MulAdd(low(left), low(tap), sum.low);
    sum.low = hn::MulAdd(hn::ShiftRight<16>(left), hn::ShiftRight<16>(tap), sum.low);
#elif HWY_TARGET <= HWY_AVX3 && defined(__AVX512VNNI__)
    // One instruction, which Debian 12's Highway does not use.
    sum.low = V{_mm512_dpwssd_epi32(sum.low.raw, left.raw, tap.raw)};
#else
    const hn::Repartition<std::int16_t, D> d16;
    sum.low = hn::ReorderWidenMulAccumulate(D(), hn::BitCast(d16, left), hn::BitCast(d16, tap),
                                            sum.low, sum.high);
#endif
  }
  static HWY_INLINE V sum(const Accumulator& of) {
    return hn::RearrangeToOddPlusEven(of.low, of.high);
  }
  template <class Sum>
  static HWY_INLINE void store_added(const Accumulator& of, Sum* out) {
    alignas(64) std::uint32_t lanes[hn::MaxLanes(D())];
    hn::Store(sum(of), D(), reinterpret_cast<std::int32_t*>(lanes));
    for (std::size_t k = 0; k < hn::MaxLanes(D()); ++k) out[k] += lanes[k];
  }
  static HWY_INLINE std::uint32_t total(const Accumulator& sum) {
    return static_cast<std::uint32_t>(hn::GetLane(hn::SumOfLanes(D(), hn::Add(sum.low, sum.high))));
  }
};

}  // namespace xcorr::cpu::byte_pairs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
