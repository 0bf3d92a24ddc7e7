// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The steps of a tile's transforms, as the FFT family's driver calls them; fft_engine-inl.hpp
// implements them for each instruction set.
#pragma once

#include <complex>

#include "cpu/common/common.hpp"
#include "cpu/correlate/fft_tiles.hpp"

namespace xcorr::cpu::fft {

/// Pixels that a tile reads; zero outside of the matrix.
struct Source {
  const std::byte* data = nullptr;
  std::int64_t pitch = 0;
  Size size;
  int x = 0, y = 0;   ///< the tile's first pixel
  double offset = 0;  ///< is taken off all pixels
};

/// Where a tile's outputs go.
struct Target {
  void* out = nullptr;
  std::int64_t pitch = 0;  ///< elements
  int columns = 0, rows = 0;
};

constexpr int max_lanes = 8;  ///< columns or rows of a group, at most

/// The transforms of a tile, in steps on some of its columns or rows (a group, as many as a vector
/// has lanes), so that groups can run in parallel. Columns are transformed by pairs of neighbouring
/// groups, one as the real part, the other as the imaginary part. A surface holds the data between
/// the column steps and the row steps, as one transform for each pair; a spectrum, with values
/// twice the transform's, holds one group of rows after the other, Tiling::spectrum_rows() of them.
/// `a`, `b`: scratch lines. T: double or float.
template <class T>
class Engine {
 public:
  using Complex = std::complex<T>;
  virtual ~Engine() = default;
  virtual int lanes() const = 0;
  virtual void forward_columns(int pair, ElementType type, const Source& pixels, Complex* surface,
                               Complex* a) const = 0;
  /// `pairs`: of columns that were transformed; what lies beyond them is 0.
  virtual void forward_rows(int group, int pairs, const Complex* surface, Complex* spectrum,
                            Complex* a) const = 0;
  /// The spectrum times the conjugate of the right's. `pairs`: of
  /// columns that are wanted.
  virtual void inverse_rows(int group, int pairs, const Complex* spectrum, const Complex* right,
                            Complex* surface, Complex* a) const = 0;
  virtual void inverse_columns(int pair, const Complex* surface, ElementType type,
                               const Target& target, Complex* a) const = 0;
};

}  // namespace xcorr::cpu::fft
