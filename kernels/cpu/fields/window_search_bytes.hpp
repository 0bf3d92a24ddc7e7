// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Products of squares of bytes, and scores of windows that are put together from them, for the
// searches on the CPU. Those of u16 and f32: window_search_u16_f32.hpp.
#pragma once

#include <cstddef>
#include <span>

#include "cpu/fields/window_search_common.hpp"
#include "cpu/match/window_sums.hpp"

namespace xcorr::cpu {

/// Pixels of a square, or of an image.
struct Bytes {
  const std::uint8_t* pixels;
  std::int64_t pitch;
};

/// What a thread needs to sum the products of squares of the reference with the frame, and how it
/// lays out what it finds.
struct SquareScratch {
  static constexpr int group = 4;   ///< rows of shifts, and of the square
  static constexpr int parts = 9;   ///< products of rows that a group takes
  static constexpr int slack = 64;  ///< how far vectors may read or write past a row

  int side;          ///< of the squares
  int columns;       ///< from row to row of sums of products, and of scores
  std::size_t sums;  ///< numbers in a surface of sums of products, and in one of scores
  int cells;         ///< pairs from row to row of the unpacked frame
  int taps;          ///< pairs from row to row of the square
  int square_groups;
  std::size_t region, combined, tap, rows, bytes;

  /// \param shifts  along an axis
  SquareScratch(int side, int shifts);
};

/// The sums of products of a square of the reference with the frame at all places that are inside,
/// in `sums`, a surface whose first is that of the place (0, 0), modulo 2^32. `memory`: the
/// scratch's bytes.
void multiply_square(const SquareScratch& scratch, std::byte* memory, const Bytes& square,
                     const Bytes& frame, const SearchedPlaces& places, std::uint32_t* sums);

using ByteFrameSums = FrameSums<std::uint32_t>;

/// The scores of all places that are inside. `products`: surfaces that add up to those of the
/// window. `frame`: from the first place that is inside on.
void score_places(const SquareScratch& scratch, const FieldSums& reference,
                  std::span<const std::uint32_t* const> products, const ByteFrameSums& frame,
                  const SearchedPlaces& places, double* scores);

/// Of a window of the reference, all of which counts.
FieldSums sums_of_square(const Bytes& square, int side);

/// For Tile in window_search_blocks.cpp: squares of `side` pixels, and windows of several.
class ByteSquares {
 public:
  using Number = std::uint32_t;

  ByteSquares(const stage::WindowSearch::Problem& p, int side) : square_(side, p.shifts()) {}

  int columns() const { return square_.columns; }
  std::size_t sums() const { return square_.sums; }
  std::size_t bytes() const { return square_.bytes; }

  void multiply(const stage::WindowSearch::Problem& p, const stage::WindowSearch::Buffers& b,
                const InterrogationWindow& square, const SearchedPlaces& places, std::byte* memory,
                Number* sums) const {
    multiply_square(square_, memory, at(p, b, square), {b.frame, p.frame_pitch}, places, sums);
  }
  /// Whether the window varies, so that there are scores.
  bool score(const stage::WindowSearch::Problem& p, const stage::WindowSearch::Buffers& b,
             const InterrogationWindow& window, std::span<const Number* const> products,
             const ByteFrameSums& frame, const SearchedPlaces& places, double* scores) const {
    const FieldSums reference = sums_of_square(at(p, b, window), p.window);
    if (!(reference.n2_variance() > 0)) return false;
    score_places(square_, reference, products, frame, places, scores);
    return true;
  }

  static std::size_t frame_sums_bytes(const stage::WindowSearch::Problem& p, Size places) {
    return FrameScratch(p, places).bytes;
  }
  /// Of the windows at some places of the frame.
  static ByteFrameSums frame_sums(const stage::WindowSearch::Problem& p,
                                  const stage::WindowSearch::Buffers& b, const Rect& places,
                                  std::byte* memory) {
    const FrameScratch s(p, places.size());
    auto* const sums = reinterpret_cast<std::uint32_t*>(memory + s.sums);
    auto* const squares = reinterpret_cast<std::uint32_t*>(memory + s.squares);
    sum_windows(frame_windows(p, places),
                {{memory + s.of_sums, b.stream}, b.frame, nullptr, sums, squares});
    return {sums, squares, places.width};
  }

 private:
  struct FrameScratch {
    std::size_t sums, squares, of_sums, bytes;

    FrameScratch(const stage::WindowSearch::Problem& p, Size places) {
      SlotParts parts;
      const std::size_t each =
          sizeof(std::uint32_t) * static_cast<std::size_t>(places.area() + SquareScratch::slack);
      sums = parts.add(each);
      squares = parts.add(each);
      of_sums = parts.add(
          window_sums_slot(frame_windows(p, {0, 0, places.width, places.height}).correlate));
      bytes = parts.bytes;
    }
  };

  static Bytes at(const stage::WindowSearch::Problem& p, const stage::WindowSearch::Buffers& b,
                  const InterrogationWindow& window) {
    return {b.reference + window.y * p.pitch + window.x, p.pitch};
  }

  SquareScratch square_;
};

}  // namespace xcorr::cpu
