// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The same as in window_search_bytes.hpp for u16 and f32, and for bytes behind a mask. All is in
// double precision, in which sums of products of u16 are exact: a window has at most 2^16 pixels,
// so they stay below 2^48.
#pragma once

#include <cstddef>
#include <span>

#include "cpu/fields/window_search_common.hpp"

namespace xcorr::cpu {

/// How a thread lays out a square, the part of the frame that is searched, and what it finds, in
/// doubles.
struct U16F32Scratch {
  static constexpr int group = 4;               ///< rows of shifts that are summed at a time
  static constexpr int most_lanes = 8;          ///< of a vector
  static constexpr int slack = 3 * most_lanes;  ///< how far vectors may read or write past a row

  int side;            ///< of the squares
  int pitch;           ///< of the part of the frame, whose first pixel is the place (0, 0)'s
  int columns;         ///< from row to row of a surface
  std::size_t region;  ///< pixels of the part of the frame
  std::size_t taps;    ///< and of a square
  std::size_t sums;    ///< numbers in a surface

  /// \param shifts  along an axis
  U16F32Scratch(int square, int shifts)
      : side(square),
        pitch(square + shifts + slack),
        columns(shifts + slack),
        region(static_cast<std::size_t>((square + shifts + group) * pitch)),
        taps(static_cast<std::size_t>(square * square)),
        sums(static_cast<std::size_t>((shifts + group) * columns)) {}
};

/// The part of the frame in which the square is searched; 0 outside of the frame.
template <class T>
void fill_region(const U16F32Scratch& scratch, const stage::WindowSearch::Problem& p,
                 const stage::WindowSearch::Buffers& b, const SearchedPlaces& places,
                 double* region) {
  std::fill_n(region, scratch.region, 0.0);
  const int until_x = places.until_x - 1 + scratch.side;
  for (int y = places.from_y; y < places.until_y - 1 + scratch.side; ++y) {
    const T* const row = row_of<T>(b.frame, p.frame_pitch, places.top + y);
    for (int x = places.from_x; x < until_x; ++x)
      region[y * scratch.pitch + x] = double(counted_pixel(row[places.left + x]));
  }
}

/// The sums of products of a square's pixels, dense, with the frame's at all places that are
/// inside.
void multiply_u16_f32(const U16F32Scratch& scratch, const double* region, const double* taps,
                      const SearchedPlaces& places, double* sums);

using U16F32FrameSums = FrameSums<double>;

/// Adds `side` numbers that are `step` apart, from each of the first `count` on. `numbers`, as many
/// as that takes, are changed.
void add_neighbours(double* numbers, std::int64_t count, int side, std::int64_t step, double* to);

/// Calls visit(pixel, whether it counts) for the reference's pixels in a square, row by row; of
/// those that do not count the pixel is 0.
template <class T, class Visit>
void each_pixel(const stage::WindowSearch::Problem& p, const stage::WindowSearch::Buffers& b,
                const InterrogationWindow& square, int side, Visit visit) {
  for (int j = 0; j < side; ++j) {
    const T* const row = row_of<T>(b.reference, p.pitch, square.y + j) + square.x;
    const std::int64_t begin = std::int64_t{square.y + j} * p.frame.width + square.x;
    for (int i = 0; i < side; ++i) {
      const bool counts = !p.masked || b.mask[begin + i];
      visit(counts ? double(counted_pixel(row[i])) : 0, counts);
    }
  }
}

/// Over the pixels of the reference's window that count.
struct U16F32Sums {
  double n = 0, sum = 0, squares = 0;

  void add(double value, bool counts) {
    n += counts;
    sum += value;
    squares += value * value;
  }
};

/// The scores of all places that are inside. `products`: surfaces that add up to those of the
/// window. `frame`: of the place (0, 0) on. Returns whether the window varies; if not, there are
/// none. T: std::uint8_t, std::uint16_t or float.
template <class T>
bool score_u16_f32(const U16F32Scratch& scratch, const U16F32Sums& reference,
                   std::span<const double* const> products, const U16F32FrameSums& frame,
                   const SearchedPlaces& places, double* scores);

/// The i-th window's vector, by the pixels that count, with the scratch memory of one slot:
/// u16_f32_window_bytes(). T: as for score_u16_f32().
template <class T>
FieldVector measure_u16_f32(const stage::WindowSearch::Problem& p,
                            const stage::WindowSearch::Buffers& b, std::int64_t i,
                            std::byte* memory);
std::size_t u16_f32_window_bytes(const stage::WindowSearch::Problem& p);

/// For Tile in window_search_blocks.cpp.
template <class T>
class U16F32Squares {
 public:
  using Number = double;

  U16F32Squares(const stage::WindowSearch::Problem& p, int side) : scratch_(side, p.shifts()) {}

  int columns() const { return scratch_.columns; }
  std::size_t sums() const { return scratch_.sums; }
  std::size_t bytes() const { return sizeof(double) * (scratch_.region + scratch_.taps); }

  void multiply(const stage::WindowSearch::Problem& p, const stage::WindowSearch::Buffers& b,
                const InterrogationWindow& square, const SearchedPlaces& places, std::byte* memory,
                double* sums) const {
    auto* const region = reinterpret_cast<double*>(memory);
    double* const taps = region + scratch_.region;
    fill_region<T>(scratch_, p, b, places, region);
    each_pixel<T>(p, b, square, scratch_.side,
                  [to = taps](double value, bool) mutable { *to++ = value; });
    multiply_u16_f32(scratch_, region, taps, places, sums);
  }
  bool score(const stage::WindowSearch::Problem& p, const stage::WindowSearch::Buffers& b,
             const InterrogationWindow& window, std::span<const double* const> products,
             const U16F32FrameSums& frame, const SearchedPlaces& places, double* scores) const {
    U16F32Sums sums;
    each_pixel<T>(p, b, window, p.window,
                  [&](double value, bool counts) { sums.add(value, counts); });
    return score_u16_f32<T>(scratch_, sums, products, frame.at(-places.from_x, -places.from_y),
                            places, scores);
  }

  static std::size_t frame_sums_bytes(const stage::WindowSearch::Problem& p, Size places) {
    return sizeof(double) * (2 * FrameScratch(p, places).numbers());
  }
  /// Of the windows at some places of the frame.
  static U16F32FrameSums frame_sums(const stage::WindowSearch::Problem& p,
                                    const stage::WindowSearch::Buffers& b, const Rect& places,
                                    std::byte* memory) {
    const FrameScratch s(p, places.size());
    auto* const rows = reinterpret_cast<double*>(memory);
    double *const row_squares = rows + s.rows, *const row = row_squares + s.rows;
    double *const squares_of_row = row + s.row, *const sums = squares_of_row + s.row;
    double* const squares = sums + s.places;
    for (int y = 0; y < places.height + p.window - 1; ++y) {
      const T* const pixels = row_of<T>(b.frame, p.frame_pitch, places.y + y) + places.x;
      for (int x = 0; x < places.width + p.window - 1; ++x) {
        row[x] = double(counted_pixel(pixels[x]));
        squares_of_row[x] = row[x] * row[x];
      }
      const std::int64_t at = std::int64_t{y} * places.width;
      add_neighbours(row, places.width, p.window, 1, rows + at);
      add_neighbours(squares_of_row, places.width, p.window, 1, row_squares + at);
    }
    const std::int64_t count = std::int64_t{places.width} * places.height;
    add_neighbours(rows, count, p.window, places.width, sums);
    add_neighbours(row_squares, count, p.window, places.width, squares);
    return {sums, squares, places.width};
  }

 private:
  /// Numbers.
  struct FrameScratch {
    std::size_t rows, row, places;

    FrameScratch(const stage::WindowSearch::Problem& p, Size size)
        : rows(static_cast<std::size_t>(size.width * (size.height + p.window))),
          row(static_cast<std::size_t>(size.width + p.window)),
          places(static_cast<std::size_t>(size.area() + U16F32Scratch::slack)) {}
    std::size_t numbers() const { return rows + row + places; }
  };

  U16F32Scratch scratch_;
};

}  // namespace xcorr::cpu
