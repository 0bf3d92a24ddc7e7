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

/// Some windows of a row of shifts, from one on.
struct WindowRow {
  const std::uint32_t *sums, *squares;
  const float* norms;
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

/// Calls body(std::integral_constant) with the method, a normed one.
template <class Body>
void with_method(Method method, Body body) {
  switch (method) {
    case Method::sqdiff_normed:
      return body(std::integral_constant<Method, Method::sqdiff_normed>());
    case Method::ccorr_normed:
      return body(std::integral_constant<Method, Method::ccorr_normed>());
    default:
      return body(std::integral_constant<Method, Method::ccoeff_normed>());
  }
}

template <Method method>
HWY_FLATTEN void measure_windows(double n, const std::uint32_t* sums, const std::uint32_t* squares,
                                 int count, float* HWY_RESTRICT norms) {
  for (int x = 0; x < count; ++x) norms[x] = CoarseScore::norm(method, n, sums[x], squares[x]);
}

/// \tparam Sum  std::int32_t where all sums are so small, since it is converted in less time
template <Method method, class Sum>
HWY_FLATTEN void take_best(const CoarseScore& score, const std::uint32_t* products,
                           const WindowRow& windows, int count, int depth,
                           const BestOfColumns& best) {
  float* HWY_RESTRICT similarity = best.similarity;
  std::int32_t* HWY_RESTRICT depths = best.depth;
  for (int x = 0; x < count; ++x) {
    const float here =
        score.similarity(static_cast<Sum>(products[x]), static_cast<Sum>(windows.sums[x]),
                         static_cast<Sum>(windows.squares[x]), windows.norms[x]);
    const bool better = here > similarity[x];
    similarity[x] = better ? here : similarity[x];
    depths[x] = better ? depth : depths[x];
  }
}

/// The score of an image whose sums these are. Inlined, so that loops know its method when
/// compiled.
template <Method method>
HWY_INLINE CoarseScore score_of(const stage::CoarseSearch::Problem& p, const TemplateSums& right) {
  const auto n = static_cast<double>(p.pixels());
  return {method, p.polarity, p.pixels(), right,
          CoarseScore::norm(method, n, right.sum, right.squares)};
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
