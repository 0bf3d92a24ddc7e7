// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Turned windows on the CPU: the luma of all that one reads is made first. A vector has
// neighbouring pixels of a row of the window.
#include "cpu/tracker/turned_window.hpp"

#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/tracker/turned_window.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef XCORR_CPU_TURNED_WINDOW
#define XCORR_CPU_TURNED_WINDOW
#include <algorithm>
#include <bit>
#include <vector>

#include "stages/tracker/turned_window.hpp"

namespace xcorr::cpu::turned_windows {

using namespace tracker;

/// The luma of a part of a frame, whose edge pixels are repeated.
struct LumaPart {
  std::int64_t left, top;
  int width, height;
  std::vector<std::uint8_t> values;

  /// Makes it what a window reads, unless that is too much.
  bool covers(const Cropping& from) {
    constexpr int last = window_size - 1;
    const std::int64_t n = std::int64_t{last} * from.samples + from.samples - 1;
    const std::int64_t xs[] = {from.x, from.x + n * from.x_by_column, from.x + n * from.x_by_row,
                               from.x + n * (std::int64_t{from.x_by_column} + from.x_by_row)};
    const std::int64_t ys[] = {from.y, from.y + n * from.y_by_column, from.y + n * from.y_by_row,
                               from.y + n * (std::int64_t{from.y_by_column} + from.y_by_row)};
    left = std::ranges::min(xs) >> 16, top = std::ranges::min(ys) >> 16;
    const std::int64_t wide = (std::ranges::max(xs) >> 16) + 2 - left,
                       high = (std::ranges::max(ys) >> 16) + 2 - top;
    if (wide > most_side || high > most_side || wide * high > most_pixels) return false;
    width = static_cast<int>(wide), height = static_cast<int>(high);
    return true;
  }

  template <int bytes>
  void read(const stage::FeatureMaps::Problem& p, const std::uint8_t* pixels) {
    values.resize(static_cast<std::size_t>(width) * height + read_past);
    const auto within = [](std::int64_t at, int length) {
      return std::clamp<std::int64_t>(at, 0, length - 1);
    };
    // Columns from the first one that is there to the last; the others repeat these.
    const int begin = static_cast<int>(std::clamp<std::int64_t>(-left, 0, width - 1));
    const int end =
        static_cast<int>(std::clamp<std::int64_t>(p.frame.width - left, begin + 1, width));
    for (int y = 0; y < height; ++y) {
      std::uint8_t* const row = &values[static_cast<std::size_t>(y) * width];
      const std::uint8_t* const from = pixels + within(top + y, p.frame.height) * p.pitch +
                                       within(left + begin, p.frame.width) * bytes;
      for (int x = begin; x < end; ++x)
        row[x] = luma_of<bytes>(p.layout, from + std::int64_t{x - begin} * bytes);
      std::fill(row, row + begin, row[begin]);
      std::fill(row + end, row + width, row[end - 1]);
    }
  }

 private:
  /// Of sides, so that places are of 32 bits; and of what is made at a time.
  static constexpr std::int64_t most_side = (1 << 15) - 1, most_pixels = 1 << 22;
  /// Where a pixel is read, four bytes are.
  static constexpr int read_past = 2;
};

}  // namespace xcorr::cpu::turned_windows
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::turned_windows::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<std::int32_t, 16>;
using V = hn::Vec<D>;

/// What is read bilinearly at places in 2^-16 of a pixel, in 2^-16 of a gray level.
HWY_INLINE V read_between(const LumaPart& part, V x, V y) {
  const D d;
  const V byte = hn::Set(d, 255);
  const V at =
      hn::Add(hn::Mul(hn::ShiftRight<16>(y), hn::Set(d, part.width)), hn::ShiftRight<16>(x));
  const auto mixed = [&](V first, V second, V share) HWY_ATTR {
    return hn::Add(hn::ShiftLeft<8>(first), hn::Mul(hn::Sub(second, first), share));
  };
  const V across = hn::And(hn::ShiftRight<8>(x), byte), down = hn::And(hn::ShiftRight<8>(y), byte);
  const auto in_row = [&](const std::uint8_t* row) HWY_ATTR {
    const V bytes = hn::GatherOffset(d, reinterpret_cast<const std::int32_t*>(row), at);
    return mixed(hn::And(bytes, byte), hn::And(hn::ShiftRight<8>(bytes), byte), across);
  };
  const std::uint8_t* const first = part.values.data();
  return mixed(in_row(first), in_row(first + part.width), down);
}

void fill(const LumaPart& part, const Cropping& from, float* window) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d)), samples = from.samples;
  const auto x0 = static_cast<std::int32_t>(from.x - (part.left << 16));
  const auto y0 = static_cast<std::int32_t>(from.y - (part.top << 16));
  const V each = hn::Iota(d, 0);
  const V x_steps = hn::Mul(each, hn::Set(d, samples * from.x_by_column)),
          y_steps = hn::Mul(each, hn::Set(d, samples * from.y_by_column));
  // Means, rounded: of whole gray levels, that by a factor which is exact up to 2^12.
  const std::int32_t places = samples * samples;
  const V half = hn::Set(d, places << 15), share = hn::Set(d, (65536 + places - 1) / places);
  for (int row = 0; row < window_size; ++row)
    for (int column = 0; column < window_size; column += lanes) {
      const std::int32_t i = column * samples, j = row * samples;
      const std::int32_t x = x0 + i * from.x_by_column + j * from.x_by_row;
      const std::int32_t y = y0 + i * from.y_by_column + j * from.y_by_row;
      V sum = half;
      for (int n = 0; n < samples; ++n)
        for (int m = 0; m < samples; ++m)
          sum = hn::Add(
              sum,
              read_between(
                  part, hn::Add(x_steps, hn::Set(d, x + m * from.x_by_column + n * from.x_by_row)),
                  hn::Add(y_steps, hn::Set(d, y + m * from.y_by_column + n * from.y_by_row))));
      const V mean = hn::ShiftRight<16>(hn::Mul(hn::ShiftRight<16>(sum), share));
      const hn::Rebind<float, D> d32;
      hn::StoreU(hn::ConvertTo(d32, mean), d32, window);
      window += lanes;
    }
}

}  // namespace xcorr::cpu::turned_windows::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace turned_windows {

HWY_EXPORT(fill);

template <int bytes>
void read(const stage::FeatureMaps::Problem& p, const std::uint8_t* pixels, const Cropping& from,
          float* window) {
  static thread_local LumaPart part;
  if (std::endian::native == std::endian::little && part.covers(from)) {
    part.read<bytes>(p, pixels);
    return HWY_DYNAMIC_DISPATCH(fill)(part, from, window);
  }
  for (int i = 0; i < window_size * window_size; ++i)
    window[i] =
        static_cast<float>(turned_pixel<bytes>(p, pixels, from, i % window_size, i / window_size));
}

}  // namespace turned_windows

void read_turned_window(const stage::FeatureMaps::Problem& p, const std::uint8_t* pixels,
                        const tracker::Cropping& from, float* window) {
  using namespace turned_windows;
  constexpr decltype(&read_turned_window) of_bytes[] = {read<1>, read<2>, read<3>, read<4>};
  of_bytes[p.layout.bytes - 1](p, pixels, from, window);
}

}  // namespace xcorr::cpu
#endif
