// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Across: a row of the right becomes a band matrix whose column n has the row from line n on. Times
// 64 pixels from every 16th place on it gives its part of the sums at 256 neighbouring shifts.
#pragma once

#include "cpu/correlate/amx_piece.hpp"

#if XCORR_AMX
namespace xcorr::cpu::amx {

class Across : public Piece {
 public:
  using Piece::Piece;

  /// What follows is of so many shifts from column x of the piece on.
  void read(int x, int width) {
    x_ = x;
    width_ = width;
    for (int k = 0; k < shifts_.height + p_.right.height; ++k)
      copy_row(shifts_.y + k, layout_.columns, pixels_ + k * layout_.pitch);
  }

  /// `out`: of the piece's first shift.
  XCORR_AMX_CODE void run(const Matrix<std::uint8_t>& right, std::uint32_t* out) {
    out += x_;
    if (x_ == 0 || p_.rights > 1) make_bands(right);
    const int first = std::min(width_, strip / 2), second = width_ - first;
    configure(TileConfig(static_cast<int>(ceil_div(first, side)),
                         std::max(static_cast<int>(ceil_div(second, side)), 1)));
    for (int y = 0; y < shifts_.height; y += 2, out += 2 * problem_.products_pitch()) {
      const std::uint8_t* const from = pixels_ + y * layout_.pitch;
      second ? add_across<true>(from) : add_across<false>(from);
      store_across<0>(out, first);
      if (second) store_across<1>(out + first, second);
      if (y + 1 == shifts_.height) break;
      store_across<2>(out + problem_.products_pitch(), first);
      if (second) store_across<3>(out + problem_.products_pitch() + first, second);
    }
    _tile_release();
  }

 private:
  /// The band matrices, four bytes of a column beside each other, as the unit takes them: those of
  /// each row for its first pixels, then those for the next ones. A matrix of zeros before the
  /// first row's and one behind the last one's.
  void make_bands(const Matrix<std::uint8_t>& right) {
    const int count = tiles_of(right.size.width + side - 1);
    std::uint8_t* to = right_;
    for (int i = 0; i < count; ++i)
      for (int y = -1; y <= right.size.height; ++y, to += tile) {
        if (y < 0 || y == right.size.height) {
          std::memset(to, 0, tile);
          continue;
        }
        // The row with zeros around, in which column n begins n bytes further to the left.
        std::memset(row_, 0, std::size_t(count + 1) * line);
        std::memcpy(row_ + side, right.row(y), right.size.width);
        for (int k = 0; k < side; ++k)
          for (int n = 0; n < side; ++n)
            std::memcpy(to + k * line + 4 * n, row_ + side + i * line + 4 * k - n, 4);
      }
  }

  /// Sums at two rows of 256 or 512 shifts. A row of pixels is multiplied with its band matrix, for
  /// the first row of shifts, and with that of the row before, for the second.
  template <bool two>
  XCORR_AMX_CODE void add_across(const std::uint8_t* pixels) {
    const int height = p_.right.height;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    const std::uint8_t* band = right_;
    for (int i = 0; i < tiles_of(p_.right.width + side - 1); ++i) {
      const std::uint8_t* from = pixels + i * line;
      _tile_loadd(7, band, line);
      band += tile;
      for (int y = 0; y <= height; y += 2) {
        _tile_loadd(4, from, side);
        _tile_loadd(6, band, line);
        _tile_dpbuud(0, 4, 6);
        _tile_dpbuud(2, 4, 7);
        if constexpr (two) {
          _tile_loadd(5, from + strip / 2, side);
          _tile_dpbuud(1, 5, 6);
          _tile_dpbuud(3, 5, 7);
        }
        from += layout_.pitch;
        band += tile;
        if (y == height) break;
        _tile_loadd(4, from, side);
        _tile_loadd(7, band, line);
        _tile_dpbuud(0, 4, 7);
        _tile_dpbuud(2, 4, 6);
        if constexpr (two) {
          _tile_loadd(5, from + strip / 2, side);
          _tile_dpbuud(1, 5, 7);
          _tile_dpbuud(3, 5, 6);
        }
        from += layout_.pitch;
        band += tile;
      }
    }
  }

  /// 256 sums in a row.
  template <int number>
  XCORR_AMX_CODE void store_across(std::uint32_t* to, int count) {
    std::uint32_t* const all = count % side == 0 ? to : sums_;
    if constexpr (number == 0) _tile_stored(0, all, line);
    if constexpr (number == 1) _tile_stored(1, all, line);
    if constexpr (number == 2) _tile_stored(2, all, line);
    if constexpr (number == 3) _tile_stored(3, all, line);
    if (all == sums_) std::copy_n(sums_, count, to);
  }
};

}  // namespace xcorr::cpu::amx
#endif
