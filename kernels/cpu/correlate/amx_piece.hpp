// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What both ways of the family amx share: the sizes of tiles, the scratch memory, the pixels of a
// piece.
#pragma once

#include <cstring>

#include "cpu/common/common.hpp"

#if defined(__x86_64__) && defined(__linux__)
#define XCORR_AMX 1
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace xcorr::cpu::amx {

constexpr int side = 16;  ///< rows of a tile, and columns of a tile of sums
constexpr int line = 64;  ///< bytes of a row of a tile
constexpr int tile = side * line;
constexpr int strip = 512;  ///< shifts across that are computed at a time

/// Tiles that hold so many bytes of a row.
constexpr int tiles_of(int bytes) { return static_cast<int>(ceil_div(bytes, line)); }

/// Products of tiles for 256 shifts.
constexpr int products_across(Size right) {
  return tiles_of(right.width + side - 1) * (right.height + 1);
}
constexpr int products_down(Size right) {
  return tiles_of(right.width) * (right.height + side - 1);
}
constexpr bool goes_down(Size right) { return products_down(right) < products_across(right); }

/// Rows of shifts of a piece: so many that every core has several, and their pixels stay in its
/// cache.
int rows_of_piece(const Problem& p) {
  const std::int64_t wanted = ceil_div(p.shifts.height, 4 * slot_count());
  return static_cast<int>(std::clamp<std::int64_t>(ceil_div(wanted, side) * side, side, 64));
}

/// The scratch memory of a slot.
struct Layout {
  int rows;            ///< of shifts, at most
  int columns;         ///< of pixels that a strip needs, and a line more
  std::int64_t pitch;  ///< bytes between rows of pixels
  std::size_t right, pixels, row, sums, bytes;

  explicit Layout(const Problem& p)
      : rows(rows_of_piece(p)), columns(strip + line * (tiles_of(p.right.width + side - 1) + 1)) {
    const bool down = goes_down(p.right);
    const int height = p.right.height;
    // An odd number of lines: no two rows of pixels share the same sets of the cache.
    pitch = (down ? 4 : 1) * columns + line;
    SlotParts parts;
    right = parts.add(down ? std::size_t(tiles_of(p.right.width)) * line * (height + 2 * side)
                           : std::size_t(tiles_of(p.right.width + side - 1)) * tile * (height + 2));
    pixels = parts.add(pitch * (rows + 2 * side + height));
    row = parts.add(std::size_t(columns) + line);
    sums = parts.add(side * side * sizeof(std::uint32_t));
    bytes = parts.bytes;
  }
};

#if XCORR_AMX
// What has the unit has these instructions, too.
#define XCORR_AMX_CODE __attribute__((target("amx-tile,amx-int8,avx512f,avx512bw,avx512vbmi")))

/// Tiles 0 to 3 hold sums, 4 to 7 what is multiplied. All have 16 rows, but those with which the
/// sums of shifts across need fewer.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};

  explicit TileConfig(int first_rows = side, int second_rows = side) {
    for (int i = 0; i < 8; ++i) {
      row_bytes[i] = line;
      rows[i] = static_cast<std::uint8_t>(i >= 6 ? side : i % 2 ? second_rows : first_rows);
    }
  }
};

/// Some rows of the shifts of a left, a strip at a time.
class Piece {
 public:
  Piece(const stage::Correlate::Problem& problem, const stage::Correlate::Buffers& buffers,
        const Layout& layout, int left, Rect shifts, std::byte* scratch)
      : problem_(problem),
        p_(problem.correlate),
        layout_(layout),
        left_(left_of<std::uint8_t>(p_, buffers.lefts, left)),
        shifts_(shifts),
        right_(at(scratch, layout.right)),
        pixels_(at(scratch, layout.pixels)),
        row_(at(scratch, layout.row)),
        sums_(reinterpret_cast<std::uint32_t*>(at(scratch, layout.sums))) {}

 protected:
  /// The pixels that a row of shifts begins with, zeros outside of the left.
  void copy_row(int row, int count, std::uint8_t* to) const {
    const int x = p_.shifts.x + x_, y = p_.shifts.y + row;
    const bool inside = y >= 0 && y < left_.size.height;
    const int begin = inside ? std::clamp(-x, 0, count) : 0;
    const int end = inside ? std::clamp(left_.size.width - x, begin, count) : begin;
    std::memset(to, 0, begin);
    if (end > begin) std::memcpy(to + begin, left_.row(y) + x + begin, end - begin);
    std::memset(to + end, 0, count - end);
  }

  /// Compilers do not know what memory the unit reads.
  XCORR_AMX_CODE void configure(const TileConfig& config) const {
    asm volatile("" ::"r"(&config), "r"(right_), "r"(pixels_) : "memory");
    _tile_loadconfig(&config);
  }

  const stage::Correlate::Problem& problem_;
  const Problem& p_;
  const Layout& layout_;
  Matrix<std::uint8_t> left_;
  Rect shifts_;
  std::uint8_t *right_, *pixels_, *row_;
  std::uint32_t* sums_;
  int x_ = 0, width_ = 0;  ///< of the strip

 private:
  static std::uint8_t* at(std::byte* scratch, std::size_t place) {
    return reinterpret_cast<std::uint8_t*>(scratch + place);
  }
};
#endif

}  // namespace xcorr::cpu::amx
