// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The best places of a row of cells, in plain C++ that the compiler vectorises. Included once for
// each of Highway's targets, of which only the compiler settings are used.
#if defined(XCORR_CPU_COARSE_SEARCH_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef XCORR_CPU_COARSE_SEARCH_INL_HPP
#undef XCORR_CPU_COARSE_SEARCH_INL_HPP
#else
#define XCORR_CPU_COARSE_SEARCH_INL_HPP
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <hwy/highway.h>

#include "stages/poses/coarse_search.hpp"

#ifndef XCORR_CPU_COARSE_SEARCH_ROWS
#define XCORR_CPU_COARSE_SEARCH_ROWS
namespace xcorr::cpu::coarse_search {

/// The shifts of a row of cells that exist.
struct CellRow {
  int row;
  int top;          ///< the shift of its row 0
  int first, last;  ///< of its rows

  CellRow(const Problem& p, int row_) : row(row_) {
    top = CoarseCells::shift(row, 0, p.right.height);
    first = std::max(0, -top);
    last = std::min(CoarseCells::side, p.shifts.height - top);
  }
};

/// Some windows of a row of shifts, from one on, of each plane.
template <int planes>
struct WindowRow {
  const std::uint32_t *sums[planes], *squares[planes];
  const float* norms;

  /// \param at  of the first window, in a plane
  template <class Buffers>
  static WindowRow of(const Problem& p, const Buffers& b, std::int64_t at, const float* norms) {
    WindowRow row{{}, {}, norms};
    for (int plane = 0; plane < planes; ++plane) {
      const std::int64_t first = plane * windows_of(p) + at;
      row.sums[plane] = static_cast<const std::uint32_t*>(b.window_sums) + first;
      row.squares[plane] = static_cast<const std::uint32_t*>(b.window_squares) + first;
    }
    return row;
  }
  /// \tparam Sum  std::int32_t where all sums are so small, since it is converted in less time
  template <class Sum>
  CoarseSums<planes> at(int x) const {
    CoarseSums<planes> made;
    for (int plane = 0; plane < planes; ++plane) {
      made.sums[plane] = static_cast<Sum>(sums[plane][x]);
      made.squares += static_cast<Sum>(squares[plane][x]);
    }
    return made;
  }
};

/// Of some columns of shifts in a row of cells, the best shift.
struct BestOfColumns {
  float* similarity;
  std::int32_t* depth;  ///< how far down the cell it is
};

}  // namespace xcorr::cpu::coarse_search
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::coarse_search::HWY_NAMESPACE {

/// Calls body(method, planes) with both as constants.
template <class Body>
void with_method(const stage::CoarseSearch::Problem& p, Body body) {
  const auto of_planes = [&](auto planes) {
    switch (p.method) {
      case Method::sqdiff_normed:
        return body(std::integral_constant<Method, Method::sqdiff_normed>(), planes);
      case Method::ccorr_normed:
        return body(std::integral_constant<Method, Method::ccorr_normed>(), planes);
      default:
        return body(std::integral_constant<Method, Method::ccoeff_normed>(), planes);
    }
  };
  with_coarse_planes(p.correlate.planes, [&](auto planes) {
    if constexpr (planes() == edge_planes)
      body(std::integral_constant<Method, Method::orientation>(), planes);
    else
      of_planes(planes);
  });
}

template <Method method, class Sum, int planes>
HWY_FLATTEN void measure_windows(double n, const WindowRow<planes>& windows, int count,
                                 float* HWY_RESTRICT norms) {
  for (int x = 0; x < count; ++x)
    norms[x] = CoarseScore<planes>::norm(method, n, windows.template at<Sum>(x));
}

/// \param similarity_at  of the x-th window
template <class SimilarityAt>
HWY_FLATTEN void take_best(int count, int depth, const BestOfColumns& best,
                           SimilarityAt similarity_at) {
  float* HWY_RESTRICT similarity = best.similarity;
  std::int32_t* HWY_RESTRICT depths = best.depth;
  for (int x = 0; x < count; ++x) {
    const float here = similarity_at(x);
    const bool better = here > similarity[x];
    similarity[x] = better ? here : similarity[x];
    depths[x] = better ? depth : depths[x];
  }
}

/// The score of an image. Inlined, so that loops know its method when compiled.
template <Method method, int planes>
HWY_INLINE CoarseScore<planes> score_of(const stage::CoarseSearch::Problem& p,
                                        const TemplateSums* template_sums, int right) {
  const auto sums = CoarseSums<planes>::of_right(p.correlate, template_sums, right);
  const auto n = static_cast<double>(p.pixels());
  return {method, p.polarity, p.pixels(), sums, CoarseScore<planes>::norm(method, n, sums)};
}

/// Sets the keys of the cells that the columns of shifts [x, x + count) lie in.
/// \param to  the first cell of the row
inline void set_keys(const stage::CoarseSearch::Problem& p, int image, int row, int x, int count,
                     const BestOfColumns& best, CoarseKey* to) {
  const CoarseCells cells = p.cells();
  // How many places of cells the centre of shift 0 lies from the frame's edge: see shift().
  const int left = (p.correlate.right.width - 1) / 2;
  const std::int64_t first =
      (std::int64_t{p.first_image} + image) * cells.count() + std::int64_t{row} * cells.columns;
  for (int k = 0; k < count; ++k) {
    const int column = (x + k + left) / CoarseCells::side, i = (x + k + left) % CoarseCells::side;
    const auto place = static_cast<std::uint32_t>((first + column) * CoarseCells::places +
                                                  CoarseCells::side * best.depth[k] + i);
    to[column] = std::max(to[column], coarse_key(best.similarity[k], place));
  }
}

}  // namespace xcorr::cpu::coarse_search::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
