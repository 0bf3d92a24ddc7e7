// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Down: 16 rows of the right, one above the other, times 64 pixels from each of 16 neighbouring
// places on give their part of the sums at 16 x 16 shifts. No product is with a zero where the
// right is a multiple of 64 wide.
#pragma once

#include "cpu/correlate/amx_piece.hpp"

#if XCORR_AMX
namespace xcorr::cpu::amx {

class Down : public Piece {
 public:
  using Piece::Piece;

  /// What follows is of so many shifts from column x of the piece on.
  XCORR_AMX_CODE void read(int x, int width) {
    x_ = x;
    width_ = width;
    for (int k = 0; k < shifts_.height + p_.right.height + 2 * side - 1; ++k) {
      copy_row(shifts_.y + k, layout_.columns, row_);
      spread(row_, layout_.columns - line, pixels_ + k * layout_.pitch);
    }
  }

  /// `out`: of the piece's first shift.
  XCORR_AMX_CODE void run(const Matrix<std::uint8_t>& right, std::uint32_t* out) {
    out += x_;
    const int pitch = tiles_of(right.size.width) * line;
    std::memset(right_, 0, std::size_t(pitch) * (right.size.height + 2 * side));
    for (int y = 0; y < right.size.height; ++y)
      std::memcpy(right_ + (side - 1 + y) * pitch, right.row(y), right.size.width);
    configure(TileConfig());
    for (int y = 0; y < shifts_.height; y += 2 * side)
      for (int x = 0; x < width_; x += 2 * side) {
        const Size rest{width_ - x, shifts_.height - y};
        const bool two = rest.height > side;
        add_down(pixels_ + y * layout_.pitch + 4 * x, two);
        std::uint32_t* const to = out + y * problem_.products_pitch() + x;
        store_down<0>(to, rest);
        if (rest.width > side) store_down<1>(to + side, {rest.width - side, rest.height});
        if (!two) continue;
        std::uint32_t* const below = to + side * problem_.products_pitch();
        const int height = rest.height - side;
        store_down<2>(below, {rest.width, height});
        if (rest.width > side) store_down<3>(below + side, {rest.width - side, height});
      }
    _tile_release();
  }

 private:
  /// Each pixel and the three after it. Reads a line more than `count` pixels.
  XCORR_AMX_CODE static void spread(const std::uint8_t* from, int count, std::uint8_t* to) {
    alignas(64) std::uint8_t places[line];
    for (int k = 0; k < line; ++k) places[k] = static_cast<std::uint8_t>(k / 4 + k % 4);
    const __m512i order = _mm512_load_si512(places);
    for (int x = 0; x < count; x += side)
      _mm512_store_si512(to + 4 * x, _mm512_permutexvar_epi8(order, _mm512_loadu_si512(from + x)));
  }

  /// Sums at 32 shifts of 16 rows, or with `two` of 32.
  XCORR_AMX_CODE void add_down(const std::uint8_t* pixels, bool two) {
    const int tiles = tiles_of(p_.right.width), pitch = tiles * line;
    const int last = p_.right.height + side - 1;  // of the rows that meet 16 rows of the right
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int i = 0; i < tiles; ++i) {
      const std::uint8_t* from = pixels + 4 * i * line;
      const std::uint8_t* rows = right_ + (side - 1) * pitch + i * line;
      for (int y = 0; y < (two ? last + side : last); ++y, from += layout_.pitch, rows += pitch) {
        // The unit waits for the second-level cache, from which rows this far apart come.
        for (int k = 0; k < 6; ++k) _mm_prefetch(from + 3 * layout_.pitch + k * line, _MM_HINT_T0);
        _tile_loadd(6, from, side);
        _tile_loadd(7, from + 4 * side, side);
        if (y < last) {
          _tile_loadd(4, rows, -pitch);
          _tile_dpbuud(0, 4, 6);
          _tile_dpbuud(1, 4, 7);
        }
        if (two && y >= side) {
          _tile_loadd(5, rows - side * pitch, -pitch);
          _tile_dpbuud(2, 5, 6);
          _tile_dpbuud(3, 5, 7);
        }
      }
    }
  }

  /// 16 sums in each of 16 rows, or as many as there are.
  template <int number>
  XCORR_AMX_CODE void store_down(std::uint32_t* to, Size count) {
    const std::int64_t pitch = problem_.products_pitch();
    const bool whole = count.width >= side && count.height >= side;
    std::uint32_t* const all = whole ? to : sums_;
    const std::int64_t bytes = whole ? 4 * pitch : line;
    if constexpr (number == 0) _tile_stored(0, all, bytes);
    if constexpr (number == 1) _tile_stored(1, all, bytes);
    if constexpr (number == 2) _tile_stored(2, all, bytes);
    if constexpr (number == 3) _tile_stored(3, all, bytes);
    if (whole) return;
    for (int y = 0; y < std::min(count.height, side); ++y)
      std::copy_n(sums_ + y * side, std::clamp(count.width, 0, side), to + y * pitch);
  }
};

}  // namespace xcorr::cpu::amx
#endif
