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

/// Two groups of columns that are transformed together, one as the real part, the other as the
/// imaginary part.
struct GroupPair {
  int real, imag;
};

/// The transforms of a tile, in steps on some of its columns or rows (a group, as many as a vector
/// has lanes), so that groups can run in parallel. A surface holds the data between the column
/// steps and the row steps; a spectrum holds one group after the other. Both have the rows of
/// Tiling::spectrum_rows(), and values twice the transform's. `a`, `b`: scratch lines. T: double or
/// float.
template <class T>
class Engine {
 public:
  using Complex = std::complex<T>;
  virtual ~Engine() = default;
  virtual int lanes() const = 0;
  virtual void forward_columns(GroupPair groups, ElementType type, const Source& pixels,
                               Complex* surface, Complex* a, Complex* b) const = 0;
  virtual void forward_rows(int group, const Complex* surface, Complex* spectrum,
                            Complex* a) const = 0;
  /// The spectrum times the conjugate of the right's. `spectrum` may be `b`.
  virtual void inverse_rows(int group, const Complex* spectrum, const Complex* right,
                            Complex* surface, Complex* a, Complex* b) const = 0;
  virtual void inverse_columns(GroupPair groups, const Complex* surface, ElementType type,
                               const Target& target, Complex* a, Complex* b) const = 0;
};

}  // namespace xcorr::cpu::fft
